import Platform

/// Decides whether the `Host` of a request names this machine without a name server.
///
/// A web page can make a browser send requests to 127.0.0.1. It cannot read the answers of another origin. But if the
/// page's own name resolves to 127.0.0.1 (DNS rebinding), the browser takes the daemon for the page's own server. Only
/// the `Host` field then shows the page's name. So a listener that only local clients can reach takes no other name.
enum LocalHost {
    /// - Parameter host: the field's value, with or without a port; nil: there is none, so the client is no
    ///   browser.
    static func allows(_ host: String?) -> Bool {
        guard let host else { return true }
        if SocketAddress(host)?.isLoopback == true { return true }
        var name = host[...]
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        return name.lowercased() == "localhost" || RemoteAddress(String(name))?.isLoopback == true
    }
}
