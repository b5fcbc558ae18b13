/// Whether and where a redirect is followed: a service may say where else to go, but not that
/// credentials go there, nor that what was encrypted goes in the clear. Pure.
enum HTTPRedirect {
    struct Hop: Equatable {
        var url: String
        /// Same scheme, host and port: may be told what the configured URL is told.
        var staysAtOrigin: Bool
    }

    /// - Parameters:
    ///   - origin: the destination's URL.
    ///   - current: the one that answered; the same, or one that a redirect led to.
    ///   - location: the header's value.
    /// - Returns: nil: not to be followed.
    static func follow(status: Int, location: String?, origin: String, current: String) -> Hop? {
        // 303 asks to look at something else, not to bring the events there.
        guard [301, 302, 307, 308].contains(status), let location, location.utf8.count <= 8 << 10,
            !location.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7f }),
            let origin = CurlURL(origin), let current = CurlURL(current), let next = current.resolving(location),
            next.scheme == origin.scheme
        else { return nil }
        guard next.hasOrigin(of: origin) else { return Hop(url: next.text, staysAtOrigin: false) }
        return origin.text(withPathOf: next).map { Hop(url: $0, staysAtOrigin: true) }
    }
}
