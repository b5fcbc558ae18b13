import Events

/// A value while a filter runs: its type, and where its bytes lie. Nothing in it owns memory.
struct Value: BitwiseCopyable, Sendable {
    enum Kind: UInt8, BitwiseCopyable, Sendable { case null, bool, number, string, list, object }

    /// Which memory `offset` counts in.
    enum Source: UInt8, BitwiseCopyable, Sendable {
        case event
        /// The filter's own.
        case constants
        /// What functions have made for this event.
        case scratch
    }

    var kind: Kind
    var source: Source = .constants
    /// The value of a `.bool`.
    var isTrue = false
    /// Of a string its decoded UTF-8, of a list or an object its JSON, of a number from the event
    /// its JSON, else empty.
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
