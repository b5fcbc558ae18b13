import Events

/// `rename: { properties.revenue: amount }`: renames a field without moving it. A field that already has the new name
/// is replaced.
struct RenameTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "rename", RenameTransform(), \.names, .paths(to: .path), example: "rename: { properties.revenue: amount }",
        "renames fields without moving them")

    var names: [PathSetting<FieldPath>] = []

    func check() -> [TransformError] {
        var errors: [TransformError] = []
        for setting in names {
            if setting.path.segments == ["messageId"] {
                errors.append(
                    TransformError([setting.key], isKey: true, "an event needs its messageId", hint: "use copy"))
            }
            let parent = setting.path.segments.dropLast()
            if setting.value.segments.count > 1, setting.value.segments.dropLast() != parent {
                errors.append(
                    TransformError(
                        [setting.key], "rename cannot move a field to another object",
                        hint: "write only the new name, or use move"))
            }
            if target(setting).segments == ["messageId"] {
                errors.append(
                    TransformError([setting.key], "messageId cannot be given by rename", hint: "use copy or set"))
            }
        }
        guard errors.isEmpty else { return errors }
        return PathRules.errors(
            writing: names.flatMap { [($0.key, $0.path, false), ($0.key, target($0), true)] }, verb: "named")
    }

    private func target(_ setting: PathSetting<FieldPath>) -> FieldPath {
        guard setting.value.segments.count == 1 else { return setting.value }
        return FieldPath(setting.path.segments.dropLast() + setting.value.segments)
    }

    var reads: [FieldPath] { names.map(\.path) }
    var writes: [FieldPath] { names.flatMap { [$0.path, target($0)] } }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(names.map { (value(of: $0.path, &binding), binding.node($0.path), binding.node(target($0))) })
    }

    /// Only a field inside `traits` can have its new name in `context.traits`, too.
    private func value(of path: FieldPath, _ binding: inout StageBinding) -> Int {
        path.segments.count > 1 ? binding.target(path) : binding.table.index(of: path)
    }

    private final class Editor: EventEditor {
        let fields: [(value: Int, node: Int, other: Int)]

        init(_ fields: [(value: Int, node: Int, other: Int)]) { self.fields = fields }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            for field in fields where view.value(field.value).type != .missing {
                overlay.rename(field.node, to: field.other, view)
            }
            return .keep
        }
    }
}
