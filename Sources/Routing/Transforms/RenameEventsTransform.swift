import Events

/// `rename_events: { Signed Up: sign_up, Order Completed: purchase }`: the names of tracks, by a
/// table. Names that are not in it stay.
struct RenameEventsTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "rename_events", RenameEventsTransform(), \.names, .names("names of events", to: .text("the new name")),
        example: "rename_events: { Signed Up: sign_up, Order Completed: purchase }",
        "gives tracks other names, by a table")

    var names: [NameSetting<String>] = []

    var reads: [FieldPath] { [IndexedField.event.path] }
    var writes: [FieldPath] { [IndexedField.event.path] }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(names, FieldKey(IndexedField.event.path, &binding), binding.node(IndexedField.event.path))
    }

    private final class Editor: EventEditor {
        private let key: FieldKey
        private let node: Int
        /// By length, so that few are compared.
        private var table: [Int: [(name: [UInt8], json: [UInt8])]] = [:]

        init(_ names: [NameSetting<String>], _ key: FieldKey, _ node: Int) {
            self.key = key
            self.node = node
            for setting in names {
                var json: [UInt8] = []
                JSONText.appendString(setting.value, to: &json)
                table[setting.name.utf8.count, default: []].append((Array(setting.name.utf8), json))
            }
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            var found: [UInt8]?
            _ = key.read(view) { name in
                guard let candidates = table[name.count] else { return }
                for candidate in candidates where candidate.name.span.hasBytes(of: name) { found = candidate.json }
            }
            if let found { overlay.set(node, json: found.span) }
            return .keep
        }
    }
}
