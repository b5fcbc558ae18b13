import Events

/// Walks over the strings of a JSON value that is known to be valid, keys and values at every depth,
/// in the order in which they stand.
struct StringCursor {
    struct Text {
        /// Without the quotes.
        var contents: Range<Int>
        var isEscaped: Bool
        var isKey: Bool
    }

    private var position: Int
    private let end: Int
    private let hasEscapes: Bool

    /// - Parameter range: of the value, in `json`.
    init(_ range: Range<Int>, of json: Span<UInt8>) {
        position = range.lowerBound
        end = range.upperBound
        hasEscapes = json.firstIndex(of: UInt8(ascii: "\\"), in: range) != nil
    }

    /// The next string; nil behind the last one.
    @inline(__always)
    mutating func next(in json: Span<UInt8>) -> Text? {
        guard let quote = json.firstIndex(of: UInt8(ascii: "\""), in: position..<end) else { return nil }
        let start = quote + 1
        var close = json.firstIndex(of: UInt8(ascii: "\""), in: start..<end) ?? end
        var isEscaped = false
        if hasEscapes {
            while close < end, Self.isEscaped(close, json) {
                close = json.firstIndex(of: UInt8(ascii: "\""), in: close + 1..<end) ?? end
            }
            isEscaped = json.firstIndex(of: UInt8(ascii: "\\"), in: start..<close) != nil
        }
        position = min(close + 1, end)
        let behind = JSONMembers.skipSpace(position, json)
        return Text(
            contents: start..<close, isEscaped: isEscaped, isKey: behind < end && json[behind] == UInt8(ascii: ":"))
    }

    /// Whether an odd number of backslashes stands before a byte.
    private static func isEscaped(_ position: Int, _ json: Span<UInt8>) -> Bool {
        var first = position
        while first > 0, json[first - 1] == UInt8(ascii: "\\") { first -= 1 }
        return (position - first) & 1 == 1
    }
}
