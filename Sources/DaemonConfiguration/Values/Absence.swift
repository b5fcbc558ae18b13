import NameSuggestion

extension Configuration {
    package enum NamedKind: String, Sendable { case source, destination }

    /// The message and hint for a name that the configuration does not have; nil: it has the name.
    package func absence(of kind: NamedKind, _ name: String) -> (message: String, hint: String)? {
        let names = kind == .source ? sources.map(\.name) : destinations.map(\.name)
        guard !names.contains(name) else { return nil }
        let nearest = NearestName.find(name, among: names).map { "did you mean \(quoted($0))?" }
        let list =
            names.isEmpty ? "the configuration has none" : "there are: \(names.prefix(20).joined(separator: ", "))"
        return ("there is no \(kind.rawValue) \(quoted(name)) in the configuration", nearest ?? list)
    }
}
