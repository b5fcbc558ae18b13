/// The checked URL of a request, and the part of it that may be shown.
struct HTTPTarget {
    /// The URL for libcurl, with placeholders for values of the event. May hold credentials.
    var url: String
    var unixSocket: String?
    /// Set if the certificate names another host than the URL: that name is in `url`. `route` is the host to connect
    /// to, for CURLOPT_CONNECT_TO; `hostHeader` is the value of the Host header.
    var connection: (route: String, hostHeader: String)?
    /// Scheme, host and port, or the socket's path. It holds no credentials, path or query, since services put tokens
    /// in each of these.
    var shown: String
    /// Parts of the URL that must not be shown anywhere.
    var secrets: [String]

    /// sockaddr_un holds 107 bytes and the terminating NUL (unix(7)).
    private static let longestSocketPath = 107

    /// - Parameter serverName: as in `HTTPOptions.TLS`.
    init(_ text: String, serverName: String? = nil) throws(HTTPOptionsError) {
        let sample = RequestText(text).sample
        if sample.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }) {
            throw HTTPOptionsError(
                option: "http",
                problem: "the URL holds a space or control character; write it percent-encoded (%20, %0A)")
        }
        if text.hasPrefix("unix:") {
            self = try Self.socket(text.dropFirst("unix:".count))
            return
        }
        guard let url = CurlURL(sample) else {
            throw HTTPOptionsError(
                option: "http", problem: "not a URL; write it like https://collector.example/v1/events")
        }
        guard url.scheme == "http" || url.scheme == "https" else {
            throw HTTPOptionsError(
                option: "http", problem: "the scheme \(url.scheme): is not supported; use http:, https: or unix:")
        }
        try Self.checkPlaces(text, behind: "://")
        let port = url.port.map { ":\($0)" } ?? ""
        self.init(url: text, shown: "\(url.scheme)://\(url.host)\(port)", secrets: url.secrets)
        guard let serverName else { return }
        guard url.scheme == "https" else {
            throw HTTPOptionsError(option: "tls.server_name", problem: "only https: uses a certificate; remove it")
        }
        guard let renamed = Self.renamed(text, to: serverName), let check = CurlURL(RequestText(renamed).sample),
            check.host.lowercased() == serverName.lowercased()
        else {
            throw HTTPOptionsError(option: "tls.server_name", problem: "not a host name; write it like api.example")
        }
        self.url = renamed
        let from = "\(serverName):\(url.effectivePort)"
        connection = (route: "\(from):\(url.host):\(url.effectivePort)", hostHeader: "\(url.host)\(port)")
    }

    /// Only the configuration may choose the host, never an event.
    private static func checkPlaces(_ text: String, behind mark: String) throws(HTTPOptionsError) {
        let authority =
            text.firstRange(of: mark).map { text[$0.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" } }
            ?? ""
        let before = authority + text.prefix { $0 != ":" }
        guard !before.contains(where: { $0 == HTTPOptions.place || $0 == HTTPOptions.batchPlace }) else {
            throw HTTPOptionsError(
                option: "http",
                problem: "an event's value cannot choose the host that the request is sent to; "
                    + "use it in the path or the query")
        }
    }

    /// Replaces the host; the rest stays as written.
    private static func renamed(_ text: String, to host: String) -> String? {
        let path =
            text.firstRange(of: "://").flatMap {
                text[$0.upperBound...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" }
            } ?? text.endIndex
        guard let server = CurlURL(String(text[..<path]))?.text(withHost: host) else { return nil }
        return (server.hasSuffix("/") ? String(server.dropLast()) : server) + (path == text.endIndex ? "/" : "")
            + text[path...]
    }

    private init(url: String, unixSocket: String? = nil, shown: String, secrets: [String]) {
        self.url = url
        self.unixSocket = unixSocket
        self.shown = shown
        self.secrets = secrets
    }

    private static func socket(_ text: Substring) throws(HTTPOptionsError) -> HTTPTarget {
        let colon = text.firstIndex(of: ":")
        let path = text[..<(colon ?? text.endIndex)]
        let requestPath = colon.map { text[text.index(after: $0)...] } ?? "/"
        guard path.hasPrefix("/"), path.utf8.count <= longestSocketPath,
            !path.contains(HTTPOptions.place), !path.contains(HTTPOptions.batchPlace)
        else {
            throw HTTPOptionsError(
                option: "http",
                problem: "a Unix socket needs an absolute path of at most \(longestSocketPath) bytes, "
                    + "like unix:/run/receiver.sock or unix:/run/receiver.sock:/v1/events")
        }
        guard requestPath.hasPrefix("/"),
            let url = CurlURL("http://localhost" + RequestText(String(requestPath)).sample)
        else {
            throw HTTPOptionsError(
                option: "http",
                problem: "the text after the socket's path and colon is the request's path; start it with /")
        }
        return HTTPTarget(
            url: "http://localhost\(requestPath)", unixSocket: String(path), shown: "unix:\(path)",
            secrets: url.secrets)
    }
}
