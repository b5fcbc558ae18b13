/// A buffer to which JSON scalars and strings are appended.
package struct JSONText: Sendable {
    package var bytes: [UInt8] = []

    package init() {}

    /// Appends syntax, or keys that need no escapes.
    package mutating func append(_ text: StaticString) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(byte: Unicode.Scalar) { bytes.append(UInt8(ascii: byte)) }

    /// Appends a string with its quotes.
    mutating func append(string: String) {
        append(byte: "\"")
        append(contents: string)
        append(byte: "\"")
    }

    /// Appends a string without quotes. Escapes only what JSON requires.
    mutating func append(contents string: String) {
        let start = bytes.count
        bytes.append(contentsOf: string.utf8)
        escape(from: start)
    }

    /// Escapes the text from `start` to the end.
    mutating func escape(from start: Int) {
        guard let first = firstSpecial(from: start) else { return }
        let rest = Array(bytes[first...])
        bytes.removeSubrange(first...)
        for byte in rest {
            switch byte {
            case UInt8(ascii: "\""): append("\\\"")
            case UInt8(ascii: "\\"): append("\\\\")
            case 0x08: append("\\b")
            case 0x09: append("\\t")
            case 0x0A: append("\\n")
            case 0x0C: append("\\f")
            case 0x0D: append("\\r")
            case 0x00..<0x20:
                append("\\u00")
                bytes.append(Self.hexDigit(byte >> 4))
                bytes.append(Self.hexDigit(byte & 15))
            default: bytes.append(byte)
            }
        }
    }

    private func firstSpecial(from start: Int) -> Int? {
        let text = bytes.span
        var position = start
        while position + 8 <= text.count, !Self.hasSpecial(word(at: position)) { position += 8 }
        if position == text.count { return nil }
        let left = text.count - position
        // The last bytes of a string without special ones, which most are. The bytes before them become letters.
        if left < 8, text.count >= 8 {
            let others = UInt64.max << UInt64(8 * left)
            let word = word(at: text.count - 8) >> UInt64(8 * (8 - left))
            if !Self.hasSpecial(word & ~others | 0x6161_6161_6161_6161 & others) { return nil }
        }
        return (position..<text.count).first { Self.isSpecial(text[$0]) }
    }

    /// Eight bytes of the text; the first one is the lowest.
    private func word(at position: Int) -> UInt64 {
        let bytes = unsafe bytes.span.bytes
        precondition(position >= 0 && position + 8 <= bytes.byteCount)
        return unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Whether one of eight bytes is special. See "Determine if a word has a byte less than n" in Sean Eron Anderson's
    /// "Bit Twiddling Hacks".
    private static func hasSpecial(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ ones &* UInt64(UInt8(ascii: "\""))
        let backslashes = word ^ ones &* UInt64(UInt8(ascii: "\\"))
        let found =
            (word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
        return found & (ones << 7) != 0
    }

    mutating func append(_ value: Bool) { value ? append("true") : append("false") }

    mutating func append(_ value: Int64) {
        if value < 0 { append(byte: "-") }
        append(value.magnitude)
    }

    mutating func append(_ value: UInt64) {
        var digits = 1
        var rest = value / 10
        while rest > 0 {
            digits += 1
            rest /= 10
        }
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: digits))
        set(value, digits: digits, endingAt: bytes.count)
    }

    /// Overwrites the bytes before `end` with the lowest decimal digits of a number.
    mutating func set(_ value: some FixedWidthInteger, digits: Int, endingAt end: Int) {
        var text = bytes.mutableSpan
        var rest = value
        for position in stride(from: end - 1, to: end - 1 - digits, by: -1) {
            text[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    static func hexDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }

    /// Appends the shortest text that reads back as the same number.
    /// - Returns: False if `null` was written because JSON cannot represent the number.
    mutating func append<Number: BinaryFloatingPoint & CustomStringConvertible>(_ value: Number) -> Bool {
        guard value.isFinite else {
            append("null")
            return false
        }
        bytes.append(contentsOf: value.description.utf8)
        return true
    }
}
