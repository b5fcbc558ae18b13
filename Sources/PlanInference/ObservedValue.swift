import Events
import Routing

/// The values that were seen in one place, none of them null.
final class ObservedValue {
    enum Shape: Hashable {
        case string, number, boolean, array, object
    }

    /// Deeper values are not described.
    static let maximumDepth = 6

    private(set) var shapes: Set<Shape> = []
    private(set) var count: UInt64 = 0
    /// Whether all numbers are whole.
    private(set) var isInteger = true
    /// Whether all texts are dates with times.
    private(set) var isDateTime = true
    private(set) var choices = ObservedChoices()
    /// The members of its objects.
    private(set) var object: ObservedObject?
    /// The items of its lists.
    private(set) var items: ObservedValue?
    /// A list had an item that is null, for which a plan has no type.
    private(set) var hasNullItem = false
    private let depth: Int

    init(depth: Int) { self.depth = depth }

    func observe(_ value: FieldValue, _ json: Span<UInt8>, _ context: inout ObservationContext) {
        count += 1
        switch value.type {
        case .missing, .null: break
        case .true, .false: shapes.insert(.boolean)
        case .number:
            shapes.insert(.number)
            if isInteger { isInteger = Self.isInteger(json.extracting(value.slice.range)) }
        case .string:
            shapes.insert(.string)
            observe(text: json.extracting(value.slice.range), &context)
        case .escapedString:
            shapes.insert(.string)
            var text: [UInt8] = []
            if JSONText.unescape(json.extracting(value.slice.range), into: &text) {
                observe(text: text.span, &context)
            } else {
                isDateTime = false
            }
        case .object:
            shapes.insert(.object)
            guard depth < Self.maximumDepth else { return }
            let object = self.object ?? ObservedObject(depth: depth)
            self.object = object
            object.observe(value, json, &context)
        case .array:
            shapes.insert(.array)
            observe(itemsOf: value, json, &context)
        }
    }

    private func observe(text: Span<UInt8>, _ context: inout ObservationContext) {
        if isDateTime { isDateTime = Timestamp.parse(text) != nil }
        choices.add(text, &context)
    }

    private func observe(itemsOf list: FieldValue, _ json: Span<UInt8>, _ context: inout ObservationContext) {
        guard depth < Self.maximumDepth, let range = list.json else { return }
        var cursor = ListCursor(range)
        while let item = cursor.next(in: json) {
            let items = self.items ?? ObservedValue(depth: depth + 1)
            self.items = items
            if item.type == .null { hasNullItem = true } else { items.observe(item, json, &context) }
        }
    }

    /// As a plan's `integer`: 1.0 is one, and so is a number that is too large for a fraction.
    private static func isInteger(_ text: Span<UInt8>) -> Bool {
        guard let number = JSONNumber(text) else { return false }
        if case .real(let value) = number { return value.rounded() == value }
        return true
    }
}

/// The different texts in one place, as long as they are few, and how many users each one has.
struct ObservedChoices {
    /// The most texts of an `enum`.
    static let maximumCount = 10
    /// A text is shown only if events of this many users have it: then it does not describe one person.
    static let leastUsers = 5
    /// The texts of an `enum` occur this often on average. Fewer say little about texts that are still to come.
    static let leastOccurrences: UInt64 = 20
    /// In bytes.
    private static let longest = 40

    private struct Choice {
        var text: [UInt8]
        /// At most `leastUsers` of them.
        var users: [UInt64]
    }

    private var choices: [Choice] = []
    private var count: UInt64 = 0
    private var isOver = false

    mutating func add(_ text: Span<UInt8>, _ context: inout ObservationContext) {
        count += 1
        if isOver { return }
        for place in choices.indices {
            let known = choices[place].text
            guard text.hasBytes(of: known.span) else { continue }
            guard choices[place].users.count < Self.leastUsers else { return }
            if !choices[place].users.contains(context.user) { choices[place].users.append(context.user) }
            return
        }
        guard choices.count < Self.maximumCount, text.count <= Self.longest, Self.isPlain(text),
            !context.mayIdentify(text)
        else {
            // Nothing of what was seen is kept.
            choices = []
            isOver = true
            return
        }
        var copy: [UInt8] = []
        copy.append(contentsOf: text)
        choices.append(Choice(text: copy, users: [context.user]))
    }

    /// Whether a text has only printable characters, and at least one.
    private static func isPlain(_ text: Span<UInt8>) -> Bool {
        for place in text.indices where text[place] < 0x20 || text[place] == 0x7F { return false }
        return !text.isEmpty
    }

    /// The texts of an `enum`, in order; nil: there should be none.
    var values: [[UInt8]]? {
        guard !isOver, !choices.isEmpty, count >= Self.leastOccurrences * UInt64(choices.count),
            choices.allSatisfy({ $0.users.count >= Self.leastUsers })
        else { return nil }
        return choices.map(\.text).sorted { $0.lexicographicallyPrecedes($1) }
    }
}
