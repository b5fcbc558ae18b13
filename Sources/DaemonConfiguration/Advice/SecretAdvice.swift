/// Warns about secrets in the configuration itself, which everybody who may read the file can see, and about
/// authentication schemes without credentials.
struct SecretAdvice {
    let diagnostics: Diagnostics

    /// - Parameter root: the merged configuration, with presets expanded.
    func run(_ root: YAMLNode) {
        for part in root.entries ?? [] where ["sources", "destinations"].contains(part.key) {
            for entry in part.value.entries ?? [] { visit(entry.value) }
        }
    }

    /// Visits the keys of a destination, or of one of its requests.
    private func visit(_ node: YAMLNode) {
        for entry in node.entries ?? [] {
            switch entry.key {
            case "headers": entry.value.entries?.forEach(header)
            case "settings": settings(entry.value)
            case "mapping", "columns", "body": values(entry.value)
            case "http": query(entry)
            case "requests": entry.value.items?.forEach(visit)
            default: break
            }
        }
    }

    private func header(_ entry: YAMLEntry) {
        guard let text = literal(entry.value) else { return }
        let words = text.split(separator: " ")
        if words.count == 1, Self.schemes.contains(words[0].lowercased()) {
            diagnostics.warning(
                at: entry.value.place, "nothing follows \(words[0]), so the service gets no credentials",
                hint: "write \(entry.key): \"\(words[0]) {{ secret.NAME }}\", or remove the header")
        } else if SecretName.isLikely(entry.key) {
            let scheme = words.count > 1 && Self.schemes.contains(words[0].lowercased()) ? "\(words[0]) " : ""
            warn(entry, hint: "\(entry.key): \"\(scheme){{ secret.NAME }}\"")
        }
    }

    private static let schemes: Set<String> = [
        "bearer", "basic", "token", "apikey", "api-key", "key", "digest", "splunk", "negotiate",
    ]

    /// Checks a plugin's settings at every depth.
    private func settings(_ node: YAMLNode) {
        node.items?.forEach(settings)
        for entry in node.entries ?? [] {
            if let text = literal(entry.value),
                SecretName.isLikely(entry.key) || text.contains(/:\/\/[^\/@:]*:[^\/@]+@/)
            {
                warn(entry, hint: "\(entry.key): !secret NAME")
            } else {
                settings(entry.value)
            }
        }
    }

    /// Checks a mapping or a body. Their members can mean many things, so only names that are certain to mean a secret
    /// count.
    private func values(_ node: YAMLNode) {
        node.items?.forEach(values)
        for entry in node.entries ?? [] where entry.key != "$literal" {
            let name = entry.key.drop { $0 == "$" }
            if let text = literal(entry.value), !text.hasPrefix("$"), SecretName.isCertain(String(name)) {
                warn(entry, hint: "\(entry.key): !secret NAME")
            } else {
                values(entry.value)
            }
        }
    }

    /// Checks the query of a URL. A password before the host is reported when the URL is read.
    private func query(_ entry: YAMLEntry) {
        guard let text = entry.value.scalar?.text, let mark = text.firstIndex(of: "?") else { return }
        for field in text[text.index(after: mark)...].split(separator: "&") {
            let parts = field.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, SecretName.isLikely(String(parts[0])), !parts[1].contains("{{") else { continue }
            warn(entry, hint: "\(parts[0])={{ secret.NAME }} in the address")
        }
    }

    /// The text of a non-blank value that is neither a secret nor filled in.
    private func literal(_ node: YAMLNode) -> String? {
        guard let scalar = node.scalar, !scalar.isSecret, !scalar.isNull, !scalar.isReported, scalar.boolean == nil
        else { return nil }
        return scalar.text.contains("{{") || scalar.text.allSatisfy({ $0 == " " }) ? nil : scalar.text
    }

    private func warn(_ entry: YAMLEntry, hint: String) {
        diagnostics.warning(
            at: entry.value.place.concealed(from: entry.place),
            "this looks like a secret, and every user who can read the file can read it",
            hint: "put it into a separate file in the directory of the secrets, and write \(hint)")
    }
}

/// Names of keys, headers and parameters whose values are secrets.
enum SecretName {
    private static let certain: Set<String> = [
        "apikey", "apisecret", "clientsecret", "secretkey", "secret", "token", "accesstoken", "authtoken",
        "refreshtoken", "bearertoken",
        "password", "passwd", "passphrase", "privatekey", "signingkey",
    ]
    private static let likely: Set<String> = [
        "authorization", "proxyauthorization", "pwd", "writekey", "sharedaccesskey",
    ]
    private static let ends = ["apikey", "secret", "token", "password"]

    static func isCertain(_ name: String) -> Bool { certain.contains(plain(name)) }

    static func isLikely(_ name: String) -> Bool {
        let plain = plain(name)
        return certain.contains(plain) || likely.contains(plain) || ends.contains(where: plain.hasSuffix)
    }

    private static func plain(_ name: String) -> String { name.lowercased().filter { $0.isLetter } }
}
