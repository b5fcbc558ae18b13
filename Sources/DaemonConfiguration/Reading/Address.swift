/// URLs of services and proxies. Only the text is checked: a supported scheme, a valid host, and no character that must
/// be encoded.
extension Kind where Value == SecretTemplate {
    /// `http`, `https`, or `unix:` with the path of a socket.
    static var url: Kind {
        Kind(.text("a URL")) { node, key, diagnostics in
            guard let parsed = AddressText(node, key, "a URL", takesValues: true, diagnostics) else { return nil }
            if parsed.skeleton.hasPrefix("unix:") { return parsed.socket(diagnostics) }
            return parsed.check(
                schemes: ["http", "https"], "a URL of http or https",
                hint: "a URL is written https://host.example/path",
                credentials: "use headers: { Authorization: \"Basic {{ secret.NAME }}\" }", diagnostics)
        }
    }
}

extension Kind where Value == SecretTemplate {
    static var proxy: Kind {
        Kind(.text("a proxy's URL")) { node, key, diagnostics in
            AddressText(node, key, "a proxy's URL", takesValues: false, diagnostics)?.check(
                schemes: ["http", "https", "socks5", "socks5h"], "a proxy's URL",
                hint: "a proxy is written http://proxy.example:3128, or socks5://…",
                credentials: "write http://NAME:{{ secret.NAME }}@proxy.example", diagnostics)
        }
    }
}

extension Kind where Value == String {
    /// One entry of what CURLOPT_NOPROXY(3) accepts.
    static var proxyException: Kind {
        .text(
            "a host, a domain or a network", .text("a host, a domain or a network"),
            hint: "such as db.example, .example or 10.0.0.0/8",
            convert: { text in
                let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F && $0 != "," }
                return isPlain && text != "*" ? text : nil
            })
    }
}

/// A URL as written, before secrets are filled in.
private struct AddressText {
    let node: YAMLNode
    let template: SecretTemplate
    /// The URL with `{}` in place of each secret and value. Braces cannot be part of a URL.
    let skeleton: String

    /// Returns nil, after reporting an error, if the node is not text or a secret is written wrongly.
    init?(_ node: YAMLNode, _ key: String, _ what: String, takesValues: Bool, _ diagnostics: Diagnostics) {
        guard let text = plainText(node, key, what, diagnostics),
            let template = SecretParsing.template(node, in: what, encoding: .url, takesValues: takesValues, diagnostics)
        else { return nil }
        self.node = node
        self.template = template
        let scalars = Array(text.unicodeScalars)
        var index = 0
        while index < scalars.count {
            if scalars[index...].starts(with: ["{", "{"]) {
                while index < scalars.count, scalars[index] != "}" { index += 1 }
                index += 2
                continue
            }
            guard Self.isAllowed(scalars[index]) else {
                diagnostics.error(
                    at: ScalarPlaces.place(of: index, length: 1, in: node), "a character that a URL cannot have",
                    hint: "write it percent-encoded: a space is %20")
                return nil
            }
            index += 1
        }
        skeleton = template.pieces.reduce(into: "") { text, piece in
            if case .literal(let literal) = piece { text += literal } else { text += "{}" }
        }
    }

    /// - Parameter credentials: the hint on a better way to give a password.
    func check(
        schemes: [String], _ what: String, hint: String, credentials: String, _ diagnostics: Diagnostics
    ) -> SecretTemplate? {
        let shown = quoted(node.scalar?.text ?? "")
        let lowered = skeleton.lowercased()
        guard let scheme = schemes.map({ $0 + "://" }).first(where: lowered.hasPrefix) else {
            diagnostics.error(at: node.place, "\(shown) is not \(what)", hint: hint)
            return nil
        }
        let rest = skeleton.dropFirst(scheme.count)
        var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if let at = authority.lastIndex(of: "@") {
            if !authority[..<at].contains("{}") {
                diagnostics.warning(
                    at: node.place.concealed(), "a password in a URL is shown in logs and status", hint: credentials)
            }
            authority = authority[authority.index(after: at)...]
        }
        guard !authority.contains("{}") else {
            diagnostics.error(
                at: node.place, "neither a secret nor a value of the event can be a part of the host",
                hint: "they go into the path, the query or headers")
            return nil
        }
        if let place = valueBeforePath {
            diagnostics.error(
                at: place, "a value of the event cannot be a part of the host",
                hint: "values go into the path, the query or headers")
            return nil
        }
        guard Self.isHost(authority) else {
            diagnostics.error(at: node.place, "\(shown) has no valid host and port", hint: hint)
            return nil
        }
        if rest.contains("#") {
            diagnostics.error(
                at: node.place, "a URL cannot have a fragment here", hint: "remove # and the text after it")
            return nil
        }
        return template
    }

    /// The place of an event's value before the path, if there is one.
    private var valueBeforePath: Place? {
        var before = ""
        for piece in template.pieces {
            switch piece {
            case .literal(let text): before += text
            case .secret: before += "{}"
            case .value(_, let place), .batch(_, let place):
                let authority = before.firstRange(of: "://").map { before[$0.upperBound...] } ?? ""
                return authority.contains { $0 == "/" || $0 == "?" } ? nil : place
            }
        }
        return nil
    }

    /// `unix:/run/receiver.sock`, or with the request's path after a second colon.
    func socket(_ diagnostics: Diagnostics) -> SecretTemplate? {
        let parts = skeleton.dropFirst("unix:".count).split(
            separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first ?? ""
        guard path.hasPrefix("/"), path.utf8.count <= 107, !path.contains("{}"),
            parts.count == 1 || parts[1].hasPrefix("/")
        else {
            diagnostics.error(
                at: node.place, "\(quoted(node.scalar?.text ?? "")) is not a Unix socket's URL",
                hint:
                    "write unix:/run/receiver.sock or unix:/run/receiver.sock:/v1/events; "
                    + "the socket's path has at most 107 bytes"
            )
            return nil
        }
        return template
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
