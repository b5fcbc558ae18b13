import Events

/// `name_case: { to: snake }`: converts the names of track events and the keys of `properties` and `traits` to one
/// spelling: `order_completed`, `order-completed`, `orderCompleted`, `Order Completed` or `ORDER_COMPLETED`.
///
/// If two keys of an object get the same name, both are kept. Most readers use the last one.
struct NameCaseTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "name_case", NameCaseTransform(), shorthand: "to",
        [
            Setting("to", \.to, .choice, required: true, "the spelling"),
            Setting("events", \.events, .flag, "whether to change the names of track events"),
            Setting("keys", \.keys, .flag, "whether to change the keys of properties and traits"),
            Setting("deep", \.deep, .flag, "whether to change the keys of nested objects too"),
        ],
        example: "name_case: snake",
        "converts event names and property keys to one spelling: snake, kebab, camel, title or upper_snake")

    var to = NameCase.snake
    var events = true
    var keys = true
    var deep = true

    func check() -> [TransformError] {
        events || keys
            ? [] : [TransformError([], "name_case has nothing to change", hint: "set events or keys to true")]
    }

    private var objects: [FieldPath] { keys ? [FieldPath(["properties"]), FieldPath(["traits"])] : [] }

    var reads: [FieldPath] { [] }
    var writes: [FieldPath] { objects + (events ? [IndexedField.event.path] : []) }
    var rewrites: [FieldPath] { writes }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(
            KeySpeller(to: to, deep: deep), objects: objects.map { binding.node($0) },
            event: events ? EventName(&binding) : nil)
    }

    private final class Editor: EventEditor {
        private let speller: KeySpeller
        private let objects: [Int]
        private let event: EventName?

        init(_ speller: KeySpeller, objects: [Int], event: EventName?) {
            self.speller = speller
            self.objects = objects
            self.event = event
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            let speller = self.speller
            event?.rewrite(view, &overlay) { name, isEscaped, output in
                speller.appendString(name, escaped: isEscaped, to: &output)
            }
            for object in objects {
                overlay.rewrite(object, view) { value, json, output in
                    guard value.type == .object else { return false }
                    speller.append(value.slice.range, of: json, to: &output)
                    return true
                }
            }
            return .keep
        }
    }
}
