/// An IP address and a port.
package struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    package var host: RemoteAddress
    /// 0: the kernel chooses one.
    package var port: UInt16

    package init(_ host: RemoteAddress, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// - Parameter text: `127.0.0.1:8377`, `[::1]:8377` or `localhost:8377`, which is 127.0.0.1. Other names are not
    ///   resolved. nil: not such a text.
    package init?(_ text: String) {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = text[text.utf8.index(after: colon)...]
        guard (1...5).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = UInt16(digits)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]"), host.utf8.count > 2 {
            host = host.dropFirst().dropLast()
            guard host.utf8.contains(UInt8(ascii: ":")) else { return nil }
        } else if host.utf8.contains(UInt8(ascii: ":")) {
            // Without brackets, the port could be a part of the address.
            return nil
        }
        guard let address = RemoteAddress(host.lowercased() == "localhost" ? "127.0.0.1" : String(host)) else {
            return nil
        }
        self.init(address, port: port)
    }

    package var isLoopback: Bool { host.isLoopback }

    /// Whether two listeners at these addresses exclude each other.
    package func overlaps(_ other: SocketAddress) -> Bool {
        guard port == other.port, port != 0, host.isIPv4 == other.host.isIPv4 else { return false }
        return host == other.host || host.isAny || other.host.isAny
    }

    package var description: String { host.isIPv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }
}
