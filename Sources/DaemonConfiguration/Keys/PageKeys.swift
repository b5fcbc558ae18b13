import Platform

extension Kind where Value == Configuration.PageListener {
    /// An address and a port, or the path of a socket.
    static var page: Kind {
        let what = "an address and a port, or the path of a socket"
        let hint = "write 127.0.0.1:9378, or a path such as /run/penstock/page.sock"
        return Kind(.either([.text("HOST:PORT"), .text("a path")]), show: \.description) { node, key, diagnostics in
            guard let text = plainText(node, key, what, hint: hint, diagnostics) else { return nil }
            if let address = SocketAddress(text) { return .address(address) }
            if text.contains("/") { return .socket(absolutePath(text, in: node.file.directory)) }
            diagnostics.error(
                at: node.place, "\(quoted(text)) is not \(what)",
                hint: UInt16(text).map { "write \(key): 127.0.0.1:\($0)" } ?? hint)
            return nil
        }
    }
}
