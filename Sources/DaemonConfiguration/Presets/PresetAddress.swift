/// A user's `url:` beside a preset. The parts that it has replace those of the preset's URL; the other parts stay.
/// `https://proxy.example` replaces the host and keeps path, query and credentials. A path replaces the preset's path,
/// and a query its query.
struct PresetAddress {
    private struct Parts {
        var scheme: String
        /// With the `@`.
        var credentials: String
        var host: String
        /// The path; for a Unix socket, the part after the colon.
        var path: String
        /// With the `?`.
        var query: String

        init?(_ text: String) {
            if text.hasPrefix("unix:") {
                let rest = text.dropFirst("unix:".count)
                let colon = rest.firstIndex(of: ":") ?? rest.endIndex
                (scheme, credentials, host) = ("unix:", "", String(rest[..<colon]))
                let target = rest[colon...].dropFirst()
                (path, query) = Self.split(target)
                return
            }
            guard let mark = text.firstRange(of: "://") else { return nil }
            scheme = String(text[..<mark.upperBound])
            let rest = text[mark.upperBound...]
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            let at = authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex
            credentials = String(authority[..<at])
            host = String(authority[at...])
            (path, query) = Self.split(rest[authority.endIndex...])
        }

        private static func split(_ target: Substring) -> (path: String, query: String) {
            let path = target.prefix { $0 != "?" }
            return (path == "/" ? "" : String(path), String(target[path.endIndex...]))
        }

        var text: String {
            if scheme == "unix:" { return "unix:\(host):\(path.isEmpty ? "/" : path)\(query)" }
            return scheme + credentials + host + (path.isEmpty && !query.isEmpty ? "/" : path) + query
        }
    }

    private let node: YAMLNode
    private let parts: Parts
    private let diagnostics: Diagnostics

    /// Returns nil if the node is no URL, which is then reported.
    init?(_ node: YAMLNode, _ diagnostics: Diagnostics) {
        guard let text = plainText(node, "url", "a URL", hint: "write url: https://host.example", diagnostics) else {
            return nil
        }
        // Check the user's URL on its own first. Joined with the preset's path, an error would not be recognisable.
        guard Kind<SecretTemplate>.url.read(node, "url", diagnostics) != nil else { return nil }
        guard let parts = Parts(text) else {
            diagnostics.error(
                at: node.place, "\(quoted(text)) is not a URL", hint: "a URL is written https://host.example/path")
            return nil
        }
        self.node = node
        self.parts = parts
        self.diagnostics = diagnostics
    }

    /// Replaces the destination's `http` and that of each request.
    func replacing(in entries: [YAMLEntry]) -> [YAMLEntry] {
        entries.map { entry in
            var entry = entry
            if entry.key == "http" {
                entry.value = replacing(entry.value)
            } else if entry.key == "requests", case .list(let requests) = entry.value.content {
                if !parts.path.isEmpty, requests.contains(where: { $0.entries?.contains { $0.key == "http" } ?? false })
                {
                    diagnostics.error(
                        at: node.place, "this preset sends to several paths, which one cannot replace",
                        hint: "leave out the path: url: \(parts.scheme)\(parts.host)")
                }
                entry.value.content = .list(
                    requests.map { request in
                        guard case .map(let keys) = request.content else { return request }
                        var request = request
                        request.content = .map(replacing(in: keys))
                        return request
                    })
            }
            return entry
        }
    }

    private func replacing(_ address: YAMLNode) -> YAMLNode {
        guard let text = address.scalar?.text, var whole = Parts(text), case .scalar(var scalar) = node.content else {
            return address
        }
        whole.scheme = parts.scheme
        whole.host = parts.host
        if !parts.credentials.isEmpty { whole.credentials = parts.credentials }
        if !parts.path.isEmpty { whole.path = parts.path }
        if !parts.query.isEmpty { whole.query = parts.query }
        scalar.text = whole.text
        var node = node
        node.content = .scalar(scalar)
        return node
    }
}
