import Events

/// `enrich: { host: context.host.name, values: { context.site: berlin } }`: fills in fields that are missing or null:
/// the name of this host, and values as in `set`. Other fields are unchanged.
struct EnrichTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "enrich", EnrichTransform(),
        [
            Setting("host", \.host, .path, default: "not written", "field for the name of this host"),
            Setting("values", \.values, .paths(to: .template), "fields and their values"),
        ],
        example: "enrich: { host: context.host.name, values: { context.site: berlin } }",
        "fills in fields that are missing or null")

    var host: FieldPath?
    var values: [PathSetting<ValueTemplate>] = []

    func check() -> [TransformError] {
        guard host != nil || !values.isEmpty else {
            return [
                TransformError(
                    [], "enrich has nothing to fill in", hint: "write host: PATH, or values: { PATH: VALUE }")
            ]
        }
        var errors = PathRules.errors(writing: values.map { ($0.key, $0.path, false) }, verb: "set")
        for i in errors.indices { errors[i].keys.insert("values", at: 0) }
        guard let host else { return errors }
        if let message = PathRules.problem(writing: host) { errors.append(TransformError(["host"], message)) }
        if let other = values.first(where: { $0.path.overlaps(host) }) {
            errors.append(TransformError(["values", other.key], isKey: true, "\(other.path) and \(host) overlap"))
        }
        return errors
    }

    var reads: [FieldPath] { writes + values.flatMap { $0.value.paths } }
    var writes: [FieldPath] { (host.map { [$0] } ?? []) + values.map(\.path) }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        var fields = values.map {
            (value: binding.value($0.path), node: binding.node($0.path), writer: ValueWriter($0.value, &binding.table))
        }
        if let host {
            var json: [UInt8] = []
            JSONText.appendString(binding.surroundings.host, to: &json)
            fields.append((binding.value(host), binding.node(host), .constant(json)))
        }
        return Editor(fields)
    }

    private final class Editor: EventEditor {
        let fields: [(value: Int, node: Int, writer: ValueWriter)]

        init(_ fields: [(value: Int, node: Int, writer: ValueWriter)]) { self.fields = fields }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            for field in fields {
                switch view.value(field.value).type {
                case .missing, .null: overlay.set(field.node, field.writer, view)
                default: continue
                }
            }
            return .keep
        }
    }
}
