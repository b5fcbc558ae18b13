import CCurl
import Platform

/// The parts that all requests of one kind share, checked once before anything is sent.
struct HTTPRequest {
    let target: HTTPTarget
    /// The URL and the headers, with placeholders for values of the event.
    private let url: RequestText
    private let headers: [RequestText]
    private let proxy: HTTPProxy?
    /// Holds secrets: never shown. For an addressed request these are templates, not the lines sent.
    let headerLines: [String]
    /// Headers without any configured ones, for redirects to a host that the configuration does not name.
    private let plainHeaders: [String]
    /// Header values, their words and parts of the URL. An excerpt of a response must not repeat them.
    let secrets: [[UInt8]]
    private let options: HTTPOptions

    /// Headers that delimit a request or manage the connection. Only libcurl may set them: if the configuration could,
    /// a proxy and the server might disagree about where a request ends.
    private static let reserved: Set<String> = [
        "connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    init(_ options: HTTPOptions) throws(HTTPOptionsError) {
        var target = try HTTPTarget(options.url, serverName: options.tls.serverName)
        target.url = options.signers.reduce(target.url) { url, signer in signer.spelling(of: url) }
        self.target = target
        try Self.checkBatchPlaces(options)
        url = RequestText(target.url)
        proxy = try options.proxy.map(HTTPProxy.init)
        self.options = options
        try Self.check(options.tls)
        var lines: [String] = []
        var names: Set<String> = []
        for header in options.headers {
            try Self.check(header)
            names.insert(header.name.lowercased())
            // libcurl writes a header without a value for "Name;". "Name:" would remove the header.
            let value = header.value.drop { $0 == " " || $0 == "\t" }
            lines.append(value.isEmpty ? "\(header.name);" : "\(header.name): \(value)")
        }
        let configured = lines
        lines = []
        if options.method.hasBody, !names.contains("content-type") {
            lines.append("Content-Type: \(options.format.contentType)")
        }
        if options.compression != .none, options.method.hasBody {
            guard !names.contains("content-encoding") else {
                throw HTTPOptionsError(
                    option: "headers.Content-Encoding",
                    problem: "the body is compressed already; remove this header or the compression")
            }
            lines.append("Content-Encoding: \(options.compression.rawValue)")
        }
        // Without this line, libcurl sends "Expect: 100-continue" before a large body and waits up to 1 s for the
        // reply.
        lines.append("Expect:")
        plainHeaders = lines
        if let name = target.connection?.hostHeader, !names.contains("host") { lines.append("Host: \(name)") }
        headerLines = configured + lines
        headers = headerLines.map(RequestText.init)
        secrets =
            (options.headers.flatMap { RequestText($0.value).parts } + target.secrets + (proxy?.secrets ?? [])
            + options.secrets)
            .flatMap(Self.secrets)
    }

    /// Every error in the options of one kind of request.
    static func problems(_ options: HTTPOptions) -> [HTTPOptionsError] {
        var problems: [HTTPOptionsError] = []
        func collect(_ check: () throws(HTTPOptionsError) -> Void) {
            do throws(HTTPOptionsError) { try check() } catch { problems.append(error) }
        }
        collect { () throws(HTTPOptionsError) in _ = try HTTPTarget(options.url, serverName: options.tls.serverName) }
        collect { () throws(HTTPOptionsError) in _ = try options.proxy.map(HTTPProxy.init) }
        collect { () throws(HTTPOptionsError) in try check(options.tls) }
        for header in options.headers { collect { () throws(HTTPOptionsError) in try check(header) } }
        collect { () throws(HTTPOptionsError) in try checkBatchPlaces(options) }
        for signer in options.signers {
            collect { () throws(HTTPOptionsError) in
                do { try signer.check() } catch { throw HTTPOptionsError(option: "sign.key", problem: "\(error)") }
            }
        }
        collect { () throws(HTTPOptionsError) in
            do { try options.credentials?.check() } catch {
                throw HTTPOptionsError(option: "auth", problem: "\(error)")
            }
        }
        if !options.method.hasBody {
            let method = options.method.rawValue
            if !options.format.isOnePerRequest {
                let problem = "\(method) sends no body, so each event needs its own request; add format: single"
                problems.append(HTTPOptionsError(option: "method", problem: problem))
            }
            if options.hasBody {
                let problem = "\(method) sends no body; remove it, and put what the service needs into the URL"
                problems.append(HTTPOptionsError(option: "body", problem: problem))
            }
        }
        if options.hasBody, options.format == .form || options.format == .xml {
            let problem = "the mapping makes the whole body of format: \(options.format.rawValue); remove this key"
            problems.append(HTTPOptionsError(option: "body", problem: problem))
        }
        // Errors that show only when the parts are combined.
        if problems.isEmpty { collect { () throws(HTTPOptionsError) in _ = try HTTPRequest(options) } }
        return problems
    }

    /// Every kind of request that the destination may send.
    static func all(_ options: HTTPOptions) throws(HTTPOptionsError) -> [HTTPRequest] {
        if options.alternatives.isEmpty { return [try HTTPRequest(options)] }
        var requests: [HTTPRequest] = []
        for alternative in options.alternatives { requests.append(try HTTPRequest(alternative)) }
        return requests
    }

    private static func check(_ tls: HTTPOptions.TLS) throws(HTTPOptionsError) {
        if tls.keyFile != nil && tls.certificateFile == nil {
            throw HTTPOptionsError(option: "tls.key", problem: "a key without a certificate; add tls.certificate")
        }
    }

    /// A placeholder without a value of the batch would be a control character.
    private static func checkBatchPlaces(_ options: HTTPOptions) throws(HTTPOptionsError) {
        var values = options.batchValues.count
        let texts = [("http", options.url)] + options.headers.map { ("headers.\($0.name)", $0.value) }
        for (option, text) in texts {
            values -= text.count { $0 == HTTPOptions.batchPlace }
            guard values < 0 else { continue }
            throw HTTPOptionsError(
                option: option, problem: "the text holds a control character; remove it, or write it percent-encoded")
        }
    }

    private static func check(_ header: HTTPOptions.Header) throws(HTTPOptionsError) {
        guard !header.name.isEmpty, header.name.utf8.allSatisfy(isTokenByte) else {
            throw HTTPOptionsError(
                option: "headers",
                problem: "a header name holds a character that HTTP does not allow; use letters, digits and -")
        }
        let option = "headers.\(header.name)"
        guard !RequestText(header.value).sample.utf8.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7f }) else {
            throw HTTPOptionsError(
                option: option,
                problem: "the value holds a control character; remove it (perhaps a line end, from a secret's file)")
        }
        guard !reserved.contains(header.name.lowercased()) else {
            throw HTTPOptionsError(option: option, problem: "Penstock sets this header itself; remove it")
        }
    }

    /// tchar of RFC 9110, section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// The value and its words: a service may echo only `abc` of `Bearer abc`. Words shorter than 8 bytes are left out;
    /// they are unlikely to be secrets, and hiding them would make responses unreadable.
    private static func secrets(in value: String) -> [[UInt8]] {
        ([value[...]] + value.split(separator: " ")).map { Array($0.utf8) }.filter { $0.count >= 8 }
    }

    var format: HTTPOptions.Format { options.format }
    var responseRules: [ResponseRule] { options.responseRules }
    var check: (any OutputCheck)? { options.check }
    var bodyCheck: (any OutputCheck)? { options.bodyCheck }
    /// Whether an event may be refused before it is sent.
    var checks: Bool { options.check != nil || options.format.mayRefuse }
    var hasBody: Bool { options.hasBody }
    var batchValues: [BatchValue] { options.batchValues }
    var destination: String { options.destination }
    /// URL and headers are not the same for all requests.
    var varies: Bool { isAddressed || isSigned || !batchValues.isEmpty }
    /// The events of one batch may need several requests.
    var isSplit: Bool { options.format.isOnePerRequest || options.bodyVaries || hasPlaces }
    /// The events' envelopes supply parts of the request besides the events.
    var isAddressed: Bool { options.hasBody || hasPlaces }
    private var hasPlaces: Bool { url.places > 0 || headers.contains { $0.places > 0 } }

    /// - Parameter values: the event's values for the URL's placeholders, then for those of the headers.
    /// - Throws: why the event cannot be sent.
    func address(_ values: [String]) throws(RequestText.Refusal) -> (url: String, headers: [String]) {
        let places = headers.reduce(url.places) { $0 + $1.places }
        guard places > 0 else { return (target.url, headerLines) }
        guard values.count == places else {
            throw RequestText.Refusal(reason: "the event does not have all values that the URL and headers need")
        }
        let whole = try url.url(values.prefix(url.places))
        var rest = values.dropFirst(url.places)
        var lines: [String] = []
        for header in headers {
            lines.append(header.places == 0 ? header.literals[0] : try header.header(rest.prefix(header.places)))
            rest = rest.dropFirst(header.places)
        }
        return (whole, lines)
    }

    /// The header lines that sign a request. Empty without a signer.
    /// - Parameters:
    ///   - body: as sent; nil: the request has none.
    ///   - headers: the request's other header lines.
    func signature(
        of body: [UInt8]?, url: String, headers: [String], _ credential: Credential?, at time: Int64
    ) throws -> [String] {
        if options.signers.isEmpty { return [] }
        let request = UnsignedRequest(
            method: options.method.rawValue, url: url, headers: headers, body: body ?? [])
        return try options.signers.flatMap { signer in
            try signer.headers(signing: request, with: credential, at: time).map { "\($0.name): \($0.value)" }
        }
    }

    var method: HTTPOptions.Method { options.method }

    /// The URL as configured. For a Unix socket, libcurl's URL does not show the socket.
    func shownURL(_ url: String) -> String {
        if let socket = target.unixSocket { return "unix:\(socket):" + url.dropFirst("http://localhost".count) }
        return target.connection == nil ? url : RequestText(options.url).places == 0 ? options.url : url
    }

    var isSigned: Bool { !options.signers.isEmpty }

    var userAgent: String { "penstock/\(options.version)" }

    /// A handle that needs only a body for each request. If the request is addressed or signed, it needs URL and
    /// headers too.
    /// - Parameters:
    ///   - hop: a redirect's target; nil: the configured URL.
    ///   - lines: this request's headers, if they vary.
    func makeHandle(following hop: HTTPRedirect.Hop? = nil, headers lines: [String]? = nil) throws(CurlError)
        -> EasyHandle
    {
        let isTrusted = hop?.staysAtOrigin ?? true
        let easy = try EasyHandle(maximumResponseBody: max(0, options.maximumResponseBody))
        try easy.set(CURLOPT_URL, hop?.url ?? url.sample)
        if let path = target.unixSocket { try easy.set(CURLOPT_UNIX_SOCKET_PATH, path) }
        if isTrusted, let route = target.connection?.route { try easy.set(CURLOPT_CONNECT_TO, [route]) }
        if options.method.hasBody { try easy.set(CURLOPT_POST, 1) }
        if options.method != .POST, options.method != .GET {
            try easy.set(CURLOPT_CUSTOMREQUEST, options.method.rawValue)
        }
        try easy.set(CURLOPT_HTTPHEADER, isTrusted ? lines ?? headerLines : plainHeaders)
        try easy.set(CURLOPT_USERAGENT, userAgent)

        try easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        // HTTPRedirect follows redirects: libcurl would send most headers on to any host.
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        // Only the configuration decides the route; ignore http_proxy in the environment.
        try easy.set(CURLOPT_PROXY, proxy?.url ?? "")
        try easy.set(CURLOPT_NOPROXY, options.proxyExceptions.joined(separator: ","))
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)

        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Wait for a multiplexed connection rather than open one for each request.
        if target.url.hasPrefix("https:") { try easy.set(CURLOPT_PIPEWAIT, 1) }
        try secure(easy, withCertificate: isTrusted)

        // libcurl's signal handling is not safe with several threads.
        try easy.set(CURLOPT_NOSIGNAL, 1)
        // Do not wait for libcurl's resolver thread: a name server that hangs must not block the engine.
        try easy.set(CURLOPT_QUICK_EXIT, 1)
        try easy.set(CURLOPT_TCP_NODELAY, 1)
        try easy.set(CURLOPT_TCP_KEEPALIVE, 1)
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(options.connectTimeout))
        try easy.set(CURLOPT_TIMEOUT_MS, Self.milliseconds(options.timeout))
        return easy
    }

    private func secure(_ easy: EasyHandle, withCertificate: Bool) throws(CurlError) {
        let tls = options.tls
        let version = Int(tls.minimumVersion == .v1_3 ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2)
        try easy.set(CURLOPT_SSLVERSION, version)
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        try easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        if let file = tls.caFile { try easy.set(CURLOPT_CAINFO, file) }
        if withCertificate, let certificate = tls.certificateFile {
            try easy.set(CURLOPT_SSLCERT, certificate)
            // The certificate's file may hold the key too.
            try easy.set(CURLOPT_SSLKEY, tls.keyFile ?? certificate)
        }
        if proxy?.isSecure == true {
            try easy.set(CURLOPT_PROXY_SSLVERSION, version)
            if let file = tls.caFile { try easy.set(CURLOPT_PROXY_CAINFO, file) }
        }
    }

    /// At least 1, since libcurl takes 0 as no timeout.
    private static func milliseconds(_ duration: Duration) -> Int {
        Int(Int32(clamping: max(1, duration.inNanoseconds / 1_000_000)))
    }
}
