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
                    speller.append(value, of: json, to: &output)
                    return true
                }
            }
            return .keep
        }
    }
}

/// Copies JSON with the keys in it spelled anew.
struct KeySpeller {
    let to: NameCase
    /// Those of objects inside objects as well.
    let deep: Bool

    /// Appends a name as a JSON string, unless it is spelled so already.
    /// - Parameter isEscaped: whether the name, which is plain text, may need escapes.
    func appendString(_ name: Span<UInt8>, escaped isEscaped: Bool, to output: inout [UInt8]) -> Bool {
        let start = output.count
        output.append(UInt8(ascii: "\""))
        to.append(name, to: &output)
        let spelled = start + 1..<output.count
        if output.span.extracting(spelled).hasBytes(of: name) {
            output.removeLast(output.count - start)
            return false
        }
        if isEscaped {
            let text = Array(output[spelled])
            output.removeLast(text.count)
            JSONText.appendContents(text.span, to: &output)
        }
        output.append(UInt8(ascii: "\""))
        return true
    }

    /// Appends an object, or what else holds keys.
    func append(_ value: FieldValue, of json: Span<UInt8>, to output: inout [UInt8]) {
        guard let range = value.json else { return }
        var copied = range.lowerBound
        func append(_ key: Range<Int>, escaped: Bool, to output: inout [UInt8]) {
            output.append(contentsOf: json.extracting(copied..<key.lowerBound))
            appendKey(json.extracting(key), escaped: escaped, to: &output)
            copied = key.upperBound
        }
        if deep {
            var strings = StringCursor(range, of: json)
            while let string = strings.next(in: json) {
                if string.isKey { append(string.contents, escaped: string.isEscaped, to: &output) }
            }
        } else {
            var members = ObjectCursor(range)
            while let member = members.next(in: json) {
                append(member.key.range, escaped: member.isKeyEscaped, to: &output)
            }
        }
        output.append(contentsOf: json.extracting(copied..<range.upperBound))
    }

    private func appendKey(_ key: Span<UInt8>, escaped: Bool, to output: inout [UInt8]) {
        guard escaped else { return to.append(key, to: &output) }
        var decoded: [UInt8] = []
        var spelled: [UInt8] = []
        guard JSONText.unescape(key, into: &decoded) else { return output.append(contentsOf: key) }
        to.append(decoded.span, to: &spelled)
        JSONText.appendContents(spelled.span, to: &output)
    }
}
