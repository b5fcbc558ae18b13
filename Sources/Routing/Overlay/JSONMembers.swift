import Events

/// Finds the key and the commas around a value in an object or a list. The bytes must be those of an accepted event, so
/// that brackets and quotes are where they belong.
enum JSONMembers {
    /// The position of the first byte at or after `position` that is not white space.
    @inline(__always)
    static func skipSpace(_ position: Int, _ json: Span<UInt8>) -> Int {
        var position = position
        while position < json.count, isSpace(json[position]) { position += 1 }
        return position
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// The comma after the member that ends at `end`. Nil: it is the last member.
    static func comma(after end: Int, _ json: Span<UInt8>) -> Int? {
        let next = skipSpace(end, json)
        return next < json.count && json[next] == UInt8(ascii: ",") ? next : nil
    }

    /// The comma before the member that starts at `start`. Nil: it is the first member.
    static func comma(before start: Int, _ json: Span<UInt8>) -> Int? {
        let before = skipSpaceBack(start, json)
        return before > 0 && json[before - 1] == UInt8(ascii: ",") ? before - 1 : nil
    }

    /// The key, with its quotes, of the member whose value starts at `value`.
    static func key(ofMemberAt value: Int, _ json: Span<UInt8>) -> Range<Int> {
        // Back over the colon, then to the closing quote.
        let end = skipSpaceBack(skipSpaceBack(value, json) - 1, json)
        var start = end - 2
        // A quote inside the key has an odd number of backslashes before it. The byte before the opening quote is not a
        // backslash.
        while start > 0, json[start] != UInt8(ascii: "\"") || json[start - 1] == UInt8(ascii: "\\") { start -= 1 }
        return max(0, start)..<max(0, end)
    }

    /// The start of the member with this value: its key or, in a list, the value itself.
    static func start(ofMemberAt value: Int, in container: Range<Int>, _ json: Span<UInt8>) -> Int {
        json[container.lowerBound] == UInt8(ascii: "{") ? key(ofMemberAt: value, json).lowerBound : value
    }

    /// Whether an object or a list is empty.
    static func isEmpty(_ container: Range<Int>, _ json: Span<UInt8>) -> Bool {
        skipSpace(container.lowerBound + 1, json) >= container.upperBound - 1
    }

    /// The position after the last byte before `end` that is not white space.
    private static func skipSpaceBack(_ end: Int, _ json: Span<UInt8>) -> Int {
        var end = end
        while end > 0, isSpace(json[end - 1]) { end -= 1 }
        return end
    }
}
