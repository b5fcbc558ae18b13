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

    var reads: [FieldPath] { objects + (events ? [IndexedField.event.path] : []) }
    var writes: [FieldPath] { reads }

    func makeEditor(_ binding: inout StageBinding) -> any EventEditor {
        Editor(
            to, deep: deep, objects: objects.map { (binding.value($0), binding.node($0)) },
            event: events ? (FieldKey(IndexedField.event.path, &binding), binding.node(IndexedField.event.path)) : nil)
    }

    private final class Editor: EventEditor {
        private let objects: [(value: Int, node: Int)]
        private let event: (key: FieldKey, node: Int)?
        private var speller: Speller

        init(_ to: NameCase, deep: Bool, objects: [(value: Int, node: Int)], event: (key: FieldKey, node: Int)?) {
            speller = Speller(to: to, deep: deep)
            self.objects = objects
            self.event = event
        }

        func edit(_ view: borrowing EventView, _ overlay: inout Overlay) -> TransformOutcome {
            if let event {
                _ = event.key.read(view) { name in
                    overlay.setIfWritten(event.node) { speller.appendString(name, to: &$0) }
                }
            }
            for object in objects {
                let value = view.value(object.value)
                guard value.type == .object else { continue }
                overlay.set(object.node) { speller.append(value, of: view.json, to: &$0) }
            }
            return .keep
        }
    }

    private struct Speller {
        let to: NameCase
        let deep: Bool
        private var spelled: [UInt8] = []

        init(to: NameCase, deep: Bool) {
            self.to = to
            self.deep = deep
        }

        /// Appends a name as a JSON string, unless it is spelled so already.
        mutating func appendString(_ name: Span<UInt8>, to output: inout [UInt8]) -> Bool {
            spelled.removeAll(keepingCapacity: true)
            to.append(name, to: &spelled)
            if spelled.span.hasBytes(of: name) { return false }
            JSONText.appendString(spelled.span, to: &output)
            return true
        }

        /// Copies an object or a list with the keys in it spelled anew.
        mutating func append(_ value: FieldValue, of json: Span<UInt8>, to output: inout [UInt8]) {
            guard let range = value.json else { return }
            var copied = range.lowerBound
            if value.type == .object {
                var cursor = ObjectCursor(range)
                while let member = cursor.next(in: json) {
                    output.append(contentsOf: json.extracting(copied..<Int(member.key.offset)))
                    appendKey(json.extracting(member.key.range), isEscaped: member.isKeyEscaped, to: &output)
                    copied = member.key.range.upperBound
                    if deep { appendInner(member.value, of: json, &copied, to: &output) }
                }
            } else {
                var cursor = ListCursor(range)
                while let item = cursor.next(in: json) { appendInner(item, of: json, &copied, to: &output) }
            }
            output.append(contentsOf: json.extracting(copied..<range.upperBound))
        }

        private mutating func appendInner(
            _ value: FieldValue, of json: Span<UInt8>, _ copied: inout Int, to output: inout [UInt8]
        ) {
            guard value.type == .object || value.type == .array, let range = value.json else { return }
            output.append(contentsOf: json.extracting(copied..<range.lowerBound))
            append(value, of: json, to: &output)
            copied = range.upperBound
        }

        private mutating func appendKey(_ key: Span<UInt8>, isEscaped: Bool, to output: inout [UInt8]) {
            guard isEscaped else {
                to.append(key, to: &output)
                return
            }
            var decoded: [UInt8] = []
            var spelled: [UInt8] = []
            guard JSONText.unescape(key, into: &decoded) else {
                output.append(contentsOf: key)
                return
            }
            to.append(decoded.span, to: &spelled)
            JSONText.appendContents(spelled.span, to: &output)
        }
    }
}
