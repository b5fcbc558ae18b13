import Events

/// Iterates over the strings of a valid JSON value, keys and values at every depth, in their order.
struct StringCursor {
    struct Text {
        /// Without the quotes, with escapes.
        var contents: Range<Int>
        var isKey: Bool
    }

    private var position = 0
    private let mayHaveEscapes: Bool

    /// - Parameter mayHaveEscapes: false promises that the value contains no backslash.
    init(mayHaveEscapes: Bool) { self.mayHaveEscapes = mayHaveEscapes }

    /// The next string. Nil: the end.
    @inline(__always)
    mutating func next(in json: Span<UInt8>) -> Text? {
        // There are few bytes between strings, and more inside them, where a faster search pays off.
        while position < json.count, json[position] != UInt8(ascii: "\"") { position += 1 }
        guard position < json.count else { return nil }
        let start = position + 1
        var end = Self.quote(json, from: start)
        if mayHaveEscapes {
            while end < json.count, Self.isEscaped(end, json) { end = Self.quote(json, from: end + 1) }
        }
        position = min(end + 1, json.count)
        let behind = JSONMembers.skipSpace(position, json)
        return Text(contents: start..<end, isKey: behind < json.count && json[behind] == UInt8(ascii: ":"))
    }

    private static func quote(_ json: Span<UInt8>, from start: Int) -> Int {
        json.firstIndex(of: UInt8(ascii: "\""), in: start..<json.count) ?? json.count
    }

    /// Whether an odd number of backslashes precedes `position`.
    private static func isEscaped(_ position: Int, _ json: Span<UInt8>) -> Bool {
        var first = position
        while first > 0, json[first - 1] == UInt8(ascii: "\\") { first -= 1 }
        return (position - first) & 1 == 1
    }
}
