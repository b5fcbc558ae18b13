import Events

/// A value during an evaluation: its type, and the place of its bytes. It owns no memory.
struct Value: BitwiseCopyable, Sendable {
    enum Kind: UInt8, BitwiseCopyable, Sendable { case null, bool, number, string, list, object }

    /// The memory in which `offset` counts.
    enum Source: UInt8, BitwiseCopyable, Sendable {
        case event
        /// The filter's own constants.
        case constants
        /// The results of functions for this event.
        case scratch
    }

    var kind: Kind
    var source: Source = .constants
    /// The value of a `.bool`.
    var isTrue = false
    /// For a string: decoded UTF-8. For a list, an object, or a number from the event: JSON. Otherwise empty.
    var offset: UInt32 = 0
    var length: UInt32 = 0
    /// The value of a `.number`.
    var number = JSONNumber.integer(0)

    static let null = Value(kind: .null)
    static func bool(_ value: Bool) -> Value { Value(kind: .bool, isTrue: value) }
    static func number(_ value: JSONNumber) -> Value { Value(kind: .number, number: value) }
    static func string(_ source: Source, _ slice: Slice) -> Value {
        Value(kind: .string, source: source, offset: slice.offset, length: slice.length)
    }

    var range: Range<Int> { Int(offset)..<Int(offset) + Int(length) }

    var typeName: String {
        switch kind {
        case .null: "null"
        case .bool: "bool"
        case .number: "number"
        case .string: "string"
        case .list: "list"
        case .object: "object"
        }
    }
}
