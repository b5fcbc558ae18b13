import CCurl
import Platform

/// A URL as libcurl itself parses it, so that the URL that is checked is the one that is used. EasyHandle and
/// MultiHandle are the other two files that call libcurl.
///
/// Unsafe part: this object owns and frees the handle's memory. It is immutable.
@safe final class CurlURL {
    private let url: OpaquePointer

    /// Returns nil unless the text is an absolute URL with a host.
    convenience init?(_ text: String) {
        unsafe self.init(curl_url(), text)
    }

    /// Takes ownership of `url`.
    private init?(_ url: OpaquePointer?, _ text: String) {
        guard let url = unsafe url else { return nil }
        unsafe self.url = url
        guard unsafe curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            !scheme.isEmpty, !host.isEmpty
        else { return nil }
    }

    deinit { unsafe curl_url_cleanup(url) }

    var scheme: String { part(CURLUPART_SCHEME) ?? "" }
    /// An IPv6 address keeps its brackets.
    var host: String { part(CURLUPART_HOST) ?? "" }
    /// nil: the URL has no port.
    var port: String? { part(CURLUPART_PORT) }
    /// The URL's port, or the scheme's default.
    var effectivePort: String { part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)) ?? "" }
    /// Percent-encoded, as sent.
    var path: String { part(CURLUPART_PATH) ?? "/" }
    /// Percent-encoded, as sent, without the question mark; nil: the URL has none.
    var query: String? { part(CURLUPART_QUERY) }
    /// The value of the Host field that libcurl sends.
    var hostField: String { port == nil || effectivePort == defaultPort ? host : "\(host):\(effectivePort)" }
    private var defaultPort: String { scheme == "https" ? "443" : "80" }
    var hasUser: Bool { part(CURLUPART_USER) != nil }

    /// User and password, decoded, as `user:password` for Basic authentication; nil: the URL has neither.
    var credentials: [UInt8]? {
        let (user, password) = (part(CURLUPART_USER), part(CURLUPART_PASSWORD))
        guard user != nil || password != nil else { return nil }
        return PercentEncoding.decode(user ?? "") + [UInt8(ascii: ":")] + PercentEncoding.decode(password ?? "")
    }

    /// Parts that are likely to be secret, as written in the URL: user, password, and the query's values.
    var secrets: [String] {
        let values = (part(CURLUPART_QUERY) ?? "").split(separator: "&").map { parameter in
            String(parameter.drop { $0 != "=" }.dropFirst())
        }
        return [part(CURLUPART_USER), part(CURLUPART_PASSWORD)].compactMap { $0 } + values
    }

    /// Compares scheme, host and port.
    func hasOrigin(of other: CurlURL) -> Bool {
        scheme == other.scheme && host.lowercased() == other.host.lowercased() && effectivePort == other.effectivePort
    }

    /// Resolves a Location header relative to this URL, without user and password.
    func resolving(_ location: String) -> CurlURL? {
        guard let target = unsafe CurlURL(curl_url_dup(url), location) else { return nil }
        unsafe curl_url_set(target.url, CURLUPART_USER, nil, 0)
        unsafe curl_url_set(target.url, CURLUPART_PASSWORD, nil, 0)
        return target
    }

    /// The URL with another host.
    func text(withHost host: String) -> String? {
        guard let copy = unsafe curl_url_dup(url) else { return nil }
        defer { unsafe curl_url_cleanup(copy) }
        guard unsafe curl_url_set(copy, CURLUPART_HOST, host, 0) == CURLUE_OK else { return nil }
        return unsafe Self.part(CURLUPART_URL, of: copy)
    }

    /// The URL with the path and query of `other`.
    func text(withPathOf other: CurlURL) -> String? {
        guard let copy = unsafe curl_url_dup(url) else { return nil }
        defer { unsafe curl_url_cleanup(copy) }
        for piece in [CURLUPART_PATH, CURLUPART_QUERY]
        where unsafe curl_url_set(copy, piece, other.part(piece), 0) != CURLUE_OK {
            return nil
        }
        return unsafe Self.part(CURLUPART_URL, of: copy)
    }

    var text: String { part(CURLUPART_URL) ?? "" }

    private func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? { unsafe Self.part(part, of: url, flags) }

    private static func part(_ part: CURLUPart, of url: OpaquePointer, _ flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(url, part, &text, flags) == CURLUE_OK, let text = unsafe text else { return nil }
        defer { unsafe curl_free(text) }
        return unsafe String(cString: text)
    }
}

/// Parses an HTTP date (RFC 9110, section 5.6.7) to seconds since 1970-01-01 UTC.
func secondsOfHTTPDate(_ text: String) -> Int64? {
    let seconds = unsafe curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
}
