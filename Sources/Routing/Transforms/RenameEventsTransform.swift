import Events

/// `rename_events: { Signed Up: sign_up, Order Completed: purchase }`: replaces the names of track events by a table.
/// Names that are not in the table are unchanged.
struct RenameEventsTransform: EditingTransform {
    static let declaration = TransformDeclaration.value(
        "rename_events", RenameEventsTransform(), \.names, .names("names of events", to: .text("the new name")),
        example: "rename_events: { Signed Up: sign_up, Order Completed: purchase }",
        "renames track events; each key is a name, each value its replacement")

    var names: [NameSetting<String>] = []

    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { [IndexedField.event.path] }
    var rewrites: [FieldPath] { writes }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(names, EventName(&binding))
    }

    private final class Editor: EventEditor {
        private let name: EventName
        /// New names by the length of the old name, so that a lookup compares few names.
        private var table: [Int: [(name: [UInt8], json: [UInt8])]] = [:]

        init(_ names: [NameSetting<String>], _ name: EventName) {
            self.name = name
            for setting in names {
                var json: [UInt8] = []
                JSONText.appendString(setting.value, to: &json)
                table[setting.name.utf8.count, default: []].append((Array(setting.name.utf8), json))
            }
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            name.rewrite(view, &overlay) { name, _, output in
                for candidate in table[name.count] ?? [] where candidate.name.span.hasBytes(of: name) {
                    output.append(contentsOf: candidate.json.span)
                    return true
                }
                return false
            }
            return .keep
        }
    }
}
