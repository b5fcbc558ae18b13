/// `match`: a pattern that must match the whole text, case-sensitive. A character is a Unicode scalar.
///
///     *       zero or more characters            [abc] [a-z]   one of these
///     ?       one character                      [^a]          one character, except these
///     \x      x itself
///
/// The time is at most length of text × length of pattern, and memory is constant: after a mismatch, only the last `*`
/// takes one more character and the rest is matched again. Earlier `*` need no retry, because they could find nothing
/// new.
enum Glob {
    /// Most bytes of a pattern that comes from the event itself. A longer one matches nothing.
    static let maximumDynamicPattern = 256

    /// Throws if the pattern is malformed.
    static func check(_ pattern: String) throws(FilterError) {
        let bytes = Array(pattern.utf8)
        var position = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\\"):
                guard position + 1 < bytes.count else {
                    throw FilterError(
                        position..<position + 1, "a \\ at a pattern's end escapes nothing",
                        hint: "write \\\\ for the character itself")
                }
                position += 2
            case UInt8(ascii: "["):
                guard let end = endOfClass(bytes.span, from: position) else {
                    throw FilterError(
                        position..<bytes.count, "this [ is never closed, or it is empty",
                        hint: "write \\[ for the character itself")
                }
                position = end
            default: position += 1
            }
        }
    }

    /// A malformed pattern matches nothing.
    static func matches(_ text: Span<UInt8>, _ pattern: Span<UInt8>) -> Bool {
        var t = 0
        var p = 0
        // The position after the last star, and the first character that the star has not taken.
        var star: (pattern: Int, text: Int)?
        while t < text.count {
            if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
                p += 1
                star = (p, t)
                continue
            }
            let next = Self.next(text, t)
            if p < pattern.count, let after = step(pattern, p, next.scalar) {
                p = after
                t = next.end
            } else if let last = star {
                t = Self.next(text, last.text).end
                star = (last.pattern, t)
                p = last.pattern
            } else {
                return false
            }
        }
        while p < pattern.count, pattern[p] == UInt8(ascii: "*") { p += 1 }
        return p == pattern.count
    }

    /// Matches one character. Returns the position after the part of the pattern that matches it. Nil: no match.
    private static func step(_ pattern: Span<UInt8>, _ p: Int, _ scalar: UInt32) -> Int? {
        switch pattern[p] {
        case UInt8(ascii: "?"): return p + 1
        case UInt8(ascii: "["):
            guard let end = endOfClass(pattern, from: p) else { return nil }
            return classHolds(pattern, p + 1..<end - 1, scalar) ? end : nil
        case UInt8(ascii: "\\"):
            guard p + 1 < pattern.count else { return nil }
            let next = next(pattern, p + 1)
            return next.scalar == scalar ? next.end : nil
        default:
            let next = next(pattern, p)
            return next.scalar == scalar ? next.end : nil
        }
    }

    /// The position after the class that starts at `start`. Nil: the class is empty or never closed.
    private static func endOfClass(_ pattern: Span<UInt8>, from start: Int) -> Int? {
        var position = start + 1
        if position < pattern.count, pattern[position] == UInt8(ascii: "^") { position += 1 }
        let first = position
        while position < pattern.count {
            if pattern[position] == UInt8(ascii: "]") { return position > first ? position + 1 : nil }
            position += pattern[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private static func classHolds(_ pattern: Span<UInt8>, _ range: Range<Int>, _ scalar: UInt32) -> Bool {
        var position = range.lowerBound
        let negated = pattern[position] == UInt8(ascii: "^")
        if negated { position += 1 }
        while position < range.upperBound {
            let low = member(pattern, &position)
            var high = low
            // A minus at the end of the class is literal.
            if position + 1 < range.upperBound, pattern[position] == UInt8(ascii: "-") {
                position += 1
                high = member(pattern, &position)
            }
            if low <= scalar, scalar <= high { return !negated }
        }
        return negated
    }

    private static func member(_ pattern: Span<UInt8>, _ position: inout Int) -> UInt32 {
        if pattern[position] == UInt8(ascii: "\\"), position + 1 < pattern.count { position += 1 }
        let next = next(pattern, position)
        position = next.end
        return next.scalar
    }

    /// The character at `position`. Invalid UTF-8 counts byte by byte.
    @inline(__always)
    private static func next(_ text: Span<UInt8>, _ position: Int) -> (scalar: UInt32, end: Int) {
        let first = text[position]
        if first < 0x80 { return (UInt32(first), position + 1) }
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
        guard length > 1, length <= text.count - position else { return (UInt32(first), position + 1) }
        var scalar = UInt32(first & (0xFF >> UInt8(length + 1)))
        for i in 1..<length { scalar = scalar << 6 | UInt32(text[position + i] & 0x3F) }
        return (scalar, position + length)
    }
}
