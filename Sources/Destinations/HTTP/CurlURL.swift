import CCurl

/// A URL as libcurl itself reads it, so that what is checked is what is used. The other two
/// files that touch libcurl are EasyHandle and MultiHandle.
///
/// What is unsafe here: the handle's memory, owned and freed by this object; it does not change.
@safe final class CurlURL {
    private let url: OpaquePointer

    /// nil: not an absolute URL with a host.
    convenience init?(_ text: String) {
        unsafe self.init(curl_url(), text)
    }

    /// Takes over `url`.
    private init?(_ url: OpaquePointer?, _ text: String) {
        guard let url = unsafe url else { return nil }
        unsafe self.url = url
        guard unsafe curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            !scheme.isEmpty, !host.isEmpty
        else { return nil }
    }

    deinit { unsafe curl_url_cleanup(url) }

    var scheme: String { part(CURLUPART_SCHEME) ?? "" }
    /// As in the URL: an IPv6 address has its brackets.
    var host: String { part(CURLUPART_HOST) ?? "" }
    /// nil: not said.
    var port: String? { part(CURLUPART_PORT) }
    /// The one said, or the scheme's own.
    var effectivePort: String { part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)) ?? "" }
    /// Percent-encoded, as it is sent.
    var path: String { part(CURLUPART_PATH) ?? "/" }
    var hasUser: Bool { part(CURLUPART_USER) != nil }

    /// User and password, decoded, as Basic authentication writes them; nil: the URL has none.
    var credentials: [UInt8]? {
        let (user, password) = (part(CURLUPART_USER), part(CURLUPART_PASSWORD))
        guard user != nil || password != nil else { return nil }
        return Self.decoded(user ?? "") + [UInt8(ascii: ":")] + Self.decoded(password ?? "")
    }

    private static func decoded(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16), rest.count >= 2 {
                bytes.append(code)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// What is likely to be secret: user, password, and the query's values, as in the URL.
    var secrets: [String] {
        let values = (part(CURLUPART_QUERY) ?? "").split(separator: "&").map { parameter in
            String(parameter.drop { $0 != "=" }.dropFirst())
        }
        return [part(CURLUPART_USER), part(CURLUPART_PASSWORD)].compactMap { $0 } + values
    }

    /// The same server, spoken to in the same way.
    func hasOrigin(of other: CurlURL) -> Bool {
        scheme == other.scheme && host.lowercased() == other.host.lowercased() && effectivePort == other.effectivePort
    }

    /// What a Location header means that came from here; without any user or password.
    func resolving(_ location: String) -> CurlURL? {
        guard let target = unsafe CurlURL(curl_url_dup(url), location) else { return nil }
        unsafe curl_url_set(target.url, CURLUPART_USER, nil, 0)
        unsafe curl_url_set(target.url, CURLUPART_PASSWORD, nil, 0)
        return target
    }

    /// As text, with another host.
    func text(withHost host: String) -> String? {
        guard let copy = unsafe curl_url_dup(url) else { return nil }
        defer { unsafe curl_url_cleanup(copy) }
        guard unsafe curl_url_set(copy, CURLUPART_HOST, host, 0) == CURLUE_OK else { return nil }
        return unsafe Self.part(CURLUPART_URL, of: copy)
    }

    /// As text, with another one's path and query.
    func text(withPathOf other: CurlURL) -> String? {
        guard let copy = unsafe curl_url_dup(url) else { return nil }
        defer { unsafe curl_url_cleanup(copy) }
        for piece in [CURLUPART_PATH, CURLUPART_QUERY] where unsafe curl_url_set(copy, piece, other.part(piece), 0) != CURLUE_OK {
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

/// A date as HTTP writes it (RFC 9110, 5.6.7), in seconds since 1970-01-01 UTC.
func secondsOfHTTPDate(_ text: String) -> Int64? {
    let seconds = unsafe curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
}
