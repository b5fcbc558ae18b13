/// JSON's scalars and strings, written at the end of a buffer.
struct JSONText: Sendable {
    var bytes: [UInt8] = []

    /// Syntax and keys that need no escapes.
    mutating func append(_ text: StaticString) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(byte: Unicode.Scalar) { bytes.append(UInt8(ascii: byte)) }

    /// A string, quotes and all.
    mutating func append(string: String) {
        append(byte: "\"")
        append(contents: string)
        append(byte: "\"")
    }

    /// A string without its quotes: what has to be escaped is, no more.
    mutating func append(contents string: String) {
        let start = bytes.count
        bytes.append(contentsOf: string.utf8)
        escape(from: start)
    }

    /// Escapes the plain text that stands from `start` to the end.
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
                append(hexDigit: byte >> 4)
                append(hexDigit: byte & 15)
            default: bytes.append(byte)
            }
        }
    }

    private func firstSpecial(from start: Int) -> Int? {
        let text = bytes.span
        for position in start..<text.count {
            let byte = text[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return position }
        }
        return nil
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
        append(value, digits: digits)
    }

    /// The lowest decimal digits of a number, with zeros before it where it has fewer.
    mutating func append(_ value: UInt64, digits: Int) {
        for _ in 0..<digits { bytes.append(UInt8(ascii: "0")) }
        var rest = value
        var position = bytes.count
        for _ in 0..<digits {
            position -= 1
            bytes[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    mutating func append(hexDigit nibble: UInt8) {
        bytes.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
    }

    /// The shortest text that reads back as the same number.
    /// - Returns: false, and `null` is written, if JSON has no word for it.
    mutating func append<Number: BinaryFloatingPoint & CustomStringConvertible>(_ value: Number) -> Bool {
        guard value.isFinite else {
            append("null")
            return false
        }
        bytes.append(contentsOf: value.description.utf8)
        return true
    }
}
