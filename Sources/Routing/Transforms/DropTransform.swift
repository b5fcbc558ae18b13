import Events

/// `drop: [properties.debug, context.ip]`: removes fields from the events that have them.
struct DropTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "drop", DropTransform(), \.paths, .list(of: .path), example: "drop: [properties.debug, context.ip]",
        "removes fields")

    var paths: [FieldPath] = []

    func check() -> [TransformError] { PathRules.errors(removing: paths) }

    var reads: [FieldPath] { paths }
    var writes: [FieldPath] { paths }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(paths.map { (binding.target($0), binding.node($0)) })
    }

    private final class Editor: EventEditor {
        let fields: [(value: Int, node: Int)]

        init(_ fields: [(value: Int, node: Int)]) { self.fields = fields }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            for field in fields where view.value(field.value).type != .missing { overlay.remove(field.node, view) }
            return .keep
        }
    }
}
