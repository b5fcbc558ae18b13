/// Decides whether to follow a redirect, and to where. A service may redirect requests, but it must not get credentials
/// sent to another host, or encrypted requests sent in the clear. Pure.
enum HTTPRedirect {
    struct Hop: Equatable {
        var url: String
        /// Same scheme, host and port as the configured URL, so the same credentials may be sent.
        var staysAtOrigin: Bool
    }

    /// - Parameters:
    ///   - origin: the destination's URL.
    ///   - current: the URL that responded: `origin`, or the target of an earlier redirect.
    ///   - location: the header's value.
    /// - Returns: nil: do not follow it.
    static func follow(status: Int, location: String?, origin: String, current: String) -> Hop? {
        // 303 asks the client to GET another page, not to send the events there.
        guard [301, 302, 307, 308].contains(status), let location, location.utf8.count <= 8 << 10,
            !location.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }),
            let origin = CurlURL(origin), let current = CurlURL(current), let next = current.resolving(location),
            next.scheme == origin.scheme
        else { return nil }
        guard next.hasOrigin(of: origin) else { return Hop(url: next.text, staysAtOrigin: false) }
        return origin.text(withPathOf: next).map { Hop(url: $0, staysAtOrigin: true) }
    }
}
