import Routing

/// The keys of an HTTP destination.
extension Section where Target == DestinationDraft {
    /// Those that several kinds of request may each have for themselves.
    static let perRequest: [Field<DestinationDraft>] = [
        Field("method", \.http.method, .choice, "HTTP method"),
        Field("format", \.http.format, .choice, "body: a line for each event; for each item of the list that its mapping makes; one array; or one event a request"),
        Field("headers", \.http.headers, .headers, "headers; {{ secret.NAME }} stands for a secret, {{ path }} for a field of the event"),
        Field(
            "body", \.http.body, .body, default: "the events alone",
            "what goes around the events in a request's body, $events in their place; events for which it comes to the same share a request"),
        Field(
            "answers", \.http.answers, .answers,
            "rules for reading the service's answers, the first that is met decides; without, 2xx is delivered, 408, 423, 425, 429 and 5xx but 501 are tried again, 401 and 403 hold, 413 splits, the rest is rejected"
        ),
        Field(
            "limits", \.http.limits, .limits,
            "what the service takes of an event; one that breaks a limit is not sent, but goes to the dead letters"),
    ]

    static let http: [Field<DestinationDraft>] = [
        Field(
            "http", \.http.url, .url, required: true,
            "URL that batches are sent to, or unix:/path/of.sock:/v1/events; {{ secret.NAME }} stands for a secret, {{ path }} for a field of the event"),
        Field(
            "requests", \.requests, .requests,
            "several kinds of request, of which the first whose where takes an event is for it"),
        Field("compression", \.http.compression, .choice, "compression of the body"),
        Field("timeout", \.http.timeout, .duration(.milliseconds(10)...days(1)), "how long a request may take"),
        Field(
            "connect_timeout", \.http.connectTimeout, .duration(.milliseconds(10)...days(1)),
            "how long connecting may take, TLS included"),
        Field(
            "max_answer", \.http.maximumAnswer, .size((1 << 10)...(16 << 20)),
            "bytes of an answer that are read; what lies behind them is not known"),
        Field("sign", keys: .signature, "a signature in headers of each request, which proves that it comes from here"),
        Field(
            "max_redirects", \.http.maximumRedirects, .integer(0...20),
            "redirects followed for a request, never to another scheme, and to another host without headers and credentials"),
        Field(
            "tls",
            keys: Section([
                Field(
                    "ca_file", \.http.tls.caFile, .path, default: "the system's",
                    "PEM file with the authorities that may vouch for the service"),
                Field(
                    "certificate", \.http.tls.certificate, .path, default: "none",
                    "PEM file with the certificate that is shown to the service, and its chain"),
                Field("key", \.http.tls.key, .path, default: "in certificate", "PEM file with that certificate's key"),
                Field("minimum_version", \.http.tls.minimumVersion, .choice, "the oldest TLS that is spoken"),
                Field(
                    "server_name", \.http.tls.serverName, .word("a host's name"), default: "the URL's host",
                    "the name that the service's certificate has to be for"),
            ]), "how the service proves who it is, and Penstock who it is"),
        Field(
            "order", \.order, .choice,
            "what waits for an event that is tried again: what is newer for the destination, or for its user"),
        Field(
            "proxy", \.http.proxy, .proxy, default: "none",
            "URL of a proxy: http, https, socks5, or socks5h, which also resolves names"),
        Field(
            "no_proxy", \.http.proxyExceptions, .list(.proxyException, "hosts"),
            "hosts, domains and networks that are reached without the proxy"),
    ] + perRequest
}

/// An HTTP destination while it is read.
struct HTTPDraft: Sendable {
    var url = SecretTemplate()
    var method = Configuration.HTTP.Method.POST
    var format = Configuration.HTTP.Format.array
    var headers: [HeaderDraft] = []
    var compression = Configuration.HTTP.Compression.none
    var connectTimeout: Duration = .seconds(10)
    var timeout: Duration = .seconds(30)
    var maximumAnswer = 64 << 10
    var body: MappingDraft?
    var answers: [Configuration.Answer] = []
    var limits: [OutputLimit] = []
    var signature = SignatureDraft()
    var maximumRedirects = 0
    var tls = Configuration.HTTP.TLS()
    var proxy: SecretTemplate?
    var proxyExceptions: [String] = []

    /// - Parameter fill: puts the secrets in.
    func value(_ fill: (SecretTemplate) -> ConcealedText) -> Configuration.HTTP {
        Configuration.HTTP(
            urlText: fill(url), method: method, format: format,
            headers: headers.map { .init(name: $0.name, text: fill($0.value)) }, hasBody: body != nil,
            bodyVaries: body?.mapping.dependsOnEvent ?? false, compression: compression,
            connectTimeout: connectTimeout, timeout: timeout, maximumAnswer: maximumAnswer,
            answers: answers, limits: LimitSet(limits), signature: signature.value(fill), maximumRedirects: maximumRedirects, tls: tls, proxyText: proxy.map(fill), proxyExceptions: proxyExceptions)
    }
}

struct HeaderDraft: Sendable {
    var name: String
    var value: SecretTemplate

    /// RFC 9110's `token`.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }
}
