import NameSuggestion
import Routing

/// Compiles a `transforms:` list to steps. Routing declares the transforms (`TransformCatalogue`).
struct StepReader {
    let secrets: SecretStore?
    let diagnostics: Diagnostics
    /// Names of the transforms that may be used here.
    var allowed = TransformCatalogue.all.map(\.name)
    /// Why the others may not be used, for the hint.
    var reason: String?

    /// - Parameter secrets: nil: the directories of secrets are not known.
    init(_ secrets: SecretStore?, _ diagnostics: Diagnostics) {
        self.secrets = secrets
        self.diagnostics = diagnostics
    }

    func steps(_ nodes: [YAMLNode]) -> [Rules.Step] { nodes.compactMap(step) }

    private func step(_ node: YAMLNode) -> Rules.Step? {
        if node.scalar?.isReported == true { return nil }
        guard case .map(let entries) = node.content else {
            diagnostics.error(
                at: node.place, "a transform is a map, not \(node.found)",
                hint: node.scalar.flatMap { TransformCatalogue.declaration(of: $0.text) }.map { "write \($0.example)" }
                    ?? "write set: { properties.name: value }")
            return nil
        }
        var reader = SettingReader(secrets, diagnostics)
        var condition: Rules.Condition?
        var isValid = true
        var chosen: (declaration: TransformDeclaration, value: SettingValue, node: YAMLNode)?
        var names = 0
        for entry in entries {
            if entry.key == "where" {
                condition = Kind<Rules.Condition>.filter.read(entry.value, entry.key, diagnostics)
                if condition == nil { isValid = false }
                continue
            }
            names += 1
            guard let declaration = TransformCatalogue.declaration(of: entry.key), allowed.contains(entry.key) else {
                reportUnknown(entry)
                isValid = false
                continue
            }
            if let value = reader.read(entry.value, declaration.shape, entry.key) {
                chosen = (declaration, value, entry.value)
            } else {
                isValid = false
            }
        }
        guard names == 1 else {
            diagnostics.error(
                at: node.place, names == 0 ? "a transform without a name" : "two transforms in one item",
                hint: names == 0 ? "write set: { properties.name: value }" : "put \"- \" before each")
            return nil
        }
        guard let chosen, let transform = transform(chosen.declaration, chosen.value, condition, chosen.node, reader),
            isValid, reader.isValid
        else { return nil }
        let text = JSONRendering.render(node, secretsAllowed: true, diagnostics)?.shown ?? ""
        return .init(transform: transform, text: text, secrets: reader.used)
    }

    private func transform(
        _ declaration: TransformDeclaration, _ value: SettingValue, _ condition: Rules.Condition?, _ node: YAMLNode,
        _ reader: SettingReader
    ) -> Transform? {
        var shorthand: String?
        if case .record(_, let key) = declaration.shape { shorthand = key }
        do throws(TransformErrors) {
            let transform = try declaration.transform(value, where: condition?.filter ?? .always)
            for advice in declaration.advice(value) {
                reader.report(advice, as: .warning, in: node, shorthand: shorthand)
            }
            return transform
        } catch {
            for error in error.errors { reader.report(error, in: node, shorthand: shorthand) }
            return nil
        }
    }

    private func reportUnknown(_ entry: YAMLEntry) {
        if let reason, TransformCatalogue.declaration(of: entry.key) != nil {
            diagnostics.error(at: entry.place, "the transform \(quoted(entry.key)) cannot be used here", hint: reason)
            return
        }
        let nearest = NearestName.find(entry.key, among: allowed)
        diagnostics.error(
            at: entry.place, "unknown transform \(quoted(entry.key))",
            hint: nearest.map { "did you mean \(quoted($0))?" } ?? "there are: \(allowed.joined(separator: ", "))")
    }
}

extension Kind where Value == [YAMLNode] {
    /// The items of a list of transforms. `StepReader` reads them once secrets can be read.
    static var transforms: Kind {
        Kind(.list(of: .anyTransform)) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list of transforms, not \(node.found)",
                    hint: "write \(key): [ set: { properties.name: value } ]")
                return nil
            }
            return items
        }
    }

    /// One transform whose name is itself a key: `timed: native`.
    static func step(_ name: String) -> Kind {
        let shape = TransformCatalogue.declaration(of: name).map { FieldShape($0.shape) } ?? .anything
        return Kind(shape) { node, key, _ in
            [
                YAMLNode(
                    content: .map([YAMLEntry(key: name, place: node.place, value: node)]), place: node.place,
                    file: node.file)
            ]
        }
    }
}
