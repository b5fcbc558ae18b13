/// The checked URL of the proxy for a destination's requests.
struct HTTPProxy {
    /// The URL for libcurl. May hold credentials.
    let url: String
    /// The connection to the proxy itself uses TLS.
    let isSecure: Bool
    /// Parts of the URL that must not be shown.
    let secrets: [String]

    init(_ text: String) throws(HTTPOptionsError) {
        guard !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }), let url = CurlURL(text) else {
            throw HTTPOptionsError(
                option: "proxy", problem: "not a proxy URL; write it like http://proxy.example:3128")
        }
        guard ["http", "https", "socks5", "socks5h"].contains(url.scheme) else {
            throw HTTPOptionsError(
                option: "proxy",
                problem: "the scheme \(url.scheme): is not supported; use http:, https:, socks5: or socks5h:")
        }
        self.url = text
        isSecure = url.scheme == "https"
        secrets = url.secrets
    }
}
