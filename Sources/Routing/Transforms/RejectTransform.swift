import Events

/// `reject: { reason: … }`: makes a dead letter of an event, with this reason. For events that the service would lose.
struct RejectTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "reject", RejectTransform(), shorthand: "reason",
        [Setting("reason", \.reason, .text("a text that says why"), required: true, "why the event is not sent")],
        example: "reject: the app has no id", "makes a dead letter of each event; give it a where:")

    var reason = ""

    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { [] }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor { Editor(reason) }

    private final class Editor: EventEditor {
        let reason: String

        init(_ reason: String) { self.reason = reason }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome { .reject(reason) }
    }
}
