/// The address of a server, as settings write it: `db.example.com:6379`, `127.0.0.1:6379` or `[::1]:6379`.
package struct HostAndPort: Equatable, Sendable {
    /// Without brackets.
    package var host: String
    package var port: UInt16

    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        // A C library would read the text only up to U+0000.
        guard !host.isEmpty, !host.utf8.contains(0) else { return nil }
        (self.host, self.port) = (String(host), port)
    }
}
