/// Warns about `${NAME}`: a configuration does not expand environment variables.
struct EnvironmentAdvice {
    let diagnostics: Diagnostics

    /// Keys whose text may use these characters for itself: scripts, regular expressions and literal values.
    private static let exceptions: Set<String> = ["lua", "script", "pattern", "patterns", "names", "$literal"]

    func run(_ node: YAMLNode) {
        switch node.content {
        case .map(let entries):
            for entry in entries where !Self.exceptions.contains(entry.key) { run(entry.value) }
        case .list(let items): items.forEach(run)
        case .scalar(let scalar):
            guard !scalar.isSecret, let match = scalar.text.firstMatch(of: /\$\{([A-Za-z_][A-Za-z0-9_]*)[^}]*\}/) else {
                return
            }
            let offset = scalar.text[..<match.range.lowerBound].unicodeScalars.count
            diagnostics.warning(
                at: ScalarPlaces.place(of: offset, length: match.output.0.unicodeScalars.count, in: node),
                "\(match.output.0.prefix(80)) is used unchanged: environment variables are not replaced",
                hint:
                    "for a secret, write !secret \(match.output.1.lowercased()), "
                    + "or {{ secret.\(match.output.1.lowercased()) }} inside a text; write other values out")
        }
    }
}
