import Events

/// `set: { routed: w1, properties.plan: "pro", context.app.name: "{{ event }}" }`: sets fields to a value. An existing
/// field is replaced in place. A missing field is added at the end of its object, and missing or null objects on the
/// way to it are created. A path inside a value that is not an object, or to an item that a list does not have, rejects
/// the event.
struct SetTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "set", SetTransform(), \.assignments, .paths(to: .template),
        example: #"set: { properties.plan: pro, context.page: "{{ properties.url }}" }"#,
        "sets fields to a constant, to another field ($.path), or to a text that contains fields")

    var assignments: [PathSetting<ValueTemplate>] = []

    func check() -> [TransformError] {
        PathRules.errors(writing: assignments.map { ($0.key, $0.path, false) }, verb: "set")
    }

    var writes: [FieldPath] { assignments.map(\.path) }
    var reads: [FieldPath] { assignments.flatMap { $0.value.paths } }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        let bound = assignments.map { (node: binding.node($0.path), value: ValueWriter($0.value, &binding.table)) }
        let constants: [ConstantMember] = assignments.compactMap {
            guard case .constant(let json) = $0.value, $0.path.segments.count == 1 else { return nil }
            return binding.constantMember($0.path, json)
        }
        return Editor(bound, constants: constants.count == bound.count ? constants : nil)
    }

    private final class Editor: EventEditor {
        let assignments: [(node: Int, value: ValueWriter)]
        let constantMembers: [ConstantMember]?

        init(_ assignments: [(node: Int, value: ValueWriter)], constants: [ConstantMember]?) {
            self.assignments = assignments
            constantMembers = constants
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            for (node, value) in assignments { overlay.set(node, value, view) }
            return .keep
        }
    }
}
