/// Decodes the contents of a JSON string byte by byte, for comparisons that must not allocate. To decode a whole
/// string, `JSONText.unescape` is faster.
struct EscapeDecoder: ~Escapable {
    private let contents: Span<UInt8>
    private var position = 0
    /// The remaining UTF-8 bytes of the character whose escape was read last. The last byte is the lowest.
    private var pending: UInt32 = 0
    private var pendingCount = 0
    /// False after an invalid escape, which also ends the decoding.
    private(set) var isValid = true

    @_lifetime(copy contents)
    init(_ contents: Span<UInt8>) { self.contents = contents }

    /// The next byte of UTF-8; nil at the end or after an invalid escape.
    @_lifetime(self: copy self)
    mutating func next() -> UInt8? {
        if pendingCount > 0 {
            pendingCount -= 1
            return UInt8(truncatingIfNeeded: pending >> UInt32(8 * pendingCount))
        }
        guard isValid, position < contents.count else { return nil }
        let byte = contents[position]
        position += 1
        guard byte == UInt8(ascii: "\\") else { return byte }
        guard let scalar = readEscape(), let encoded = Unicode.UTF8.encode(scalar) else {
            isValid = false
            return nil
        }
        for unit in encoded {
            pending = pending << 8 | UInt32(unit)
            pendingCount += 1
        }
        return next()
    }

    /// Reads the rest of an escape after its backslash.
    @_lifetime(self: copy self)
    private mutating func readEscape() -> Unicode.Scalar? {
        guard position < contents.count else { return nil }
        defer { position += 1 }
        switch contents[position] {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let first = hexadecimal(at: position + 1) else { return nil }
        position += 4
        guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
        // The first half of a surrogate pair: the second half must follow.
        guard position + 2 < contents.count, contents[position + 1] == UInt8(ascii: "\\"),
            contents[position + 2] == UInt8(ascii: "u"), let second = hexadecimal(at: position + 3),
            0xDC00..<0xE000 ~= second
        else { return nil }
        position += 6
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private func hexadecimal(at start: Int) -> UInt32? {
        guard start + 4 <= contents.count else { return nil }
        var value: UInt32 = 0
        for position in start..<start + 4 {
            guard let digit = Character(Unicode.Scalar(contents[position])).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
