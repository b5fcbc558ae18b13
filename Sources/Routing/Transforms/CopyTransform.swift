import Events

/// `copy: { context.ip: properties.ip }`: copies a field's value to another field. A missing field is not copied.
struct CopyTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "copy", CopyTransform(), \.fields, .paths(to: .path), example: "copy: { context.ip: properties.ip }",
        "copies fields; each key is the source, each value the target")

    var fields: [PathSetting<FieldPath>] = []

    func check() -> [TransformError] {
        FieldTransfer.errors(fields) + PathRules.errors(writing: fields.map { ($0.key, $0.value, true) }, verb: "set")
    }

    var reads: [FieldPath] { fields.map(\.path) }
    var writes: [FieldPath] { fields.map(\.value) }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        FieldTransfer(fields, removesSource: false, &binding)
    }
}

/// `move: { context.campaign: properties.campaign }`: moves a field to another place. If the field is missing, the
/// other place is unchanged.
struct MoveTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "move", MoveTransform(), \.fields, .paths(to: .path),
        example: "move: { context.campaign: properties.campaign }",
        "moves fields; each key is the source, each value the target")

    var fields: [PathSetting<FieldPath>] = []

    func check() -> [TransformError] {
        let errors =
            FieldTransfer.errors(fields)
            + fields.filter { $0.path.segments == ["messageId"] }.map {
                TransformError([$0.key], isKey: true, "an event needs its messageId", hint: "use copy")
            }
        guard errors.isEmpty else { return errors }
        return PathRules.errors(
            writing: fields.flatMap { [($0.key, $0.path, false), ($0.key, $0.value, true)] }, verb: "named")
    }

    var reads: [FieldPath] { fields.map(\.path) }
    var writes: [FieldPath] { fields.flatMap { [$0.path, $0.value] } }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        FieldTransfer(fields, removesSource: true, &binding)
    }
}

/// The common part of `copy` and `move`.
private final class FieldTransfer: EventEditor {
    /// `source`: what `move` removes.
    private let fields: [(value: Int, source: (value: Int, node: Int)?, target: Int)]

    init(_ fields: [PathSetting<FieldPath>], removesSource: Bool, _ binding: inout StageBinding) {
        self.fields = fields.map {
            (
                binding.value($0.path),
                removesSource ? (binding.target($0.path), binding.node($0.path)) : nil, binding.node($0.value)
            )
        }
    }

    static func errors(_ fields: [PathSetting<FieldPath>]) -> [TransformError] {
        fields.filter { $0.path.overlaps($0.value) }.map {
            TransformError(
                [$0.key], "\($0.path) and \($0.value) overlap", hint: "name a field that is not inside the other")
        }
    }

    func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
        for field in fields {
            guard let range = view.value(field.value).json else { continue }
            overlay.set(field.target, json: view.memory.extracting(range), view)
            if let source = field.source, view.value(source.value).type != .missing {
                overlay.remove(source.node, view)
            }
        }
        return .keep
    }
}
