import CCurl

/// A URL as libcurl itself reads it, so that what is checked is what is used. The other two
/// files that touch libcurl are EasyHandle and MultiHandle.
struct CurlURL {
    var scheme: String
    /// As in the URL: an IPv6 address has its brackets.
    var host: String
    var port: String?
    /// What is likely to be secret: user, password, and the query's values, as in the URL.
    var secrets: [String]

    /// nil: not an absolute URL with a host.
    init?(_ text: String) {
        guard let url = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(url) }
        guard unsafe curl_url_set(url, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else {
            return nil
        }
        func part(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(url, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
            defer { unsafe curl_free(text) }
            return unsafe String(cString: text)
        }
        guard let scheme = part(CURLUPART_SCHEME), let host = part(CURLUPART_HOST), !host.isEmpty else { return nil }
        self.scheme = scheme
        self.host = host
        port = part(CURLUPART_PORT)
        let values = (part(CURLUPART_QUERY) ?? "").split(separator: "&").map { parameter in
            String(parameter.drop { $0 != "=" }.dropFirst())
        }
        secrets = [part(CURLUPART_USER), part(CURLUPART_PASSWORD)].compactMap { $0 } + values
    }
}

/// A date as HTTP writes it (RFC 9110, 5.6.7), in seconds since 1970-01-01 UTC.
func secondsOfHTTPDate(_ text: String) -> Int64? {
    let seconds = unsafe curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds)
}
