import Events

/// `name_case: { to: snake }`: the names of tracks and the keys of `properties` and `traits` in one
/// spelling: `order_completed`, `order-completed`, `orderCompleted`, `Order Completed`.
///
/// Two keys of one object that come to the same name both stay; to most readers the last one counts.
struct NameCaseTransform: EditingTransform {
    static let declaration = TransformDeclaration.keys(
        "name_case", NameCaseTransform(), shorthand: "to",
        [
            Setting("to", \.to, .choice, required: true, "the spelling"),
            Setting("events", \.events, .flag, "whether the names of tracks are changed"),
            Setting("keys", \.keys, .flag, "whether the keys of properties and traits are changed"),
            Setting("deep", \.deep, .flag, "whether the keys of objects inside them are changed as well"),
        ],
        example: "name_case: snake", "spells event names and property keys alike: snake, kebab, camel or title")

    var to = NameCase.snake
    var events = true
    var keys = true
    var deep = true

    func check() -> [TransformError] {
        events || keys ? [] : [TransformError([], "this changes nothing", hint: "leave out events: or keys:")]
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
        private var event: EventName?

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
