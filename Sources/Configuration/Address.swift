/// A URL of a service, checked as far as text can be: `http` or `https`, a host, nothing that has
/// to be encoded.
extension Kind where Value == String {
    static var url: Kind {
        Kind(.text("a URL"), show: { $0 }) { node, key, diagnostics in
            guard let text = plainText(node, key, "a URL", diagnostics) else { return nil }
            let hint = "a URL is written https://host.example/path"
            let lowered = text.lowercased()
            guard let scheme = ["http://", "https://"].first(where: lowered.hasPrefix) else {
                diagnostics.error(at: node.place, "\(quoted(text)) is not a URL of http or https", hint: hint)
                return nil
            }
            let scalars = Array(text.unicodeScalars)
            if let index = scalars.firstIndex(where: { !isAllowed($0) }) {
                let template = scalars[index] == "{"
                diagnostics.error(
                    at: ScalarPlaces.place(of: index, length: 1, in: node),
                    template ? "a URL cannot be filled in by this version" : "a character that a URL cannot have",
                    hint: template ? "secrets go into headers" : "write it percent-encoded: a space is %20")
                return nil
            }
            let rest = text.dropFirst(scheme.count)
            var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            if let at = authority.lastIndex(of: "@") {
                diagnostics.warning(
                    at: node.place, "a password in a URL is shown in logs and status",
                    hint: "use headers: { Authorization: \"Basic {{ secret.NAME }}\" }")
                authority = authority[authority.index(after: at)...]
            }
            guard isHost(authority) else {
                diagnostics.error(at: node.place, "\(quoted(text)) has no valid host and port", hint: hint)
                return nil
            }
            if rest.contains("#") {
                diagnostics.error(
                    at: node.place, "a URL with a fragment cannot be sent to", hint: "remove what begins with #")
                return nil
            }
            return text
        }
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0x20 && scalar.value < 0x7F && !"\"<>\\^`{|}".unicodeScalars.contains(scalar)
    }

    private static func isHost(_ authority: Substring) -> Bool {
        var host = authority
        var port: Substring?
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return false }
            let behind = host[host.index(after: end)...]
            host = host[host.index(after: host.startIndex)..<end]
            guard
                host.utf8.allSatisfy({
                    $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") || Character(Unicode.Scalar($0)).isHexDigit
                })
            else { return false }
            if !behind.isEmpty {
                guard behind.hasPrefix(":") else { return false }
                port = behind.dropFirst()
            }
        } else if let colon = host.firstIndex(of: ":") {
            port = host[host.index(after: colon)...]
            host = host[..<colon]
        }
        guard !host.isEmpty, !host.contains("[") else { return false }
        guard let port else { return true }
        return Quantity.integer(String(port)).map { (1...65_535).contains($0) } ?? false
    }
}
