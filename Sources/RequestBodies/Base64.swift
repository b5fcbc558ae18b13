/// Bytes as text: base64 of RFC 4648.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// Appends the bytes in the standard alphabet, with padding.
    package static func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        var position = 0
        while position < bytes.count {
            let count = min(3, bytes.count - position)
            var group: UInt32 = 0
            for offset in 0..<3 {
                group = group << 8 | (offset < count ? UInt32(bytes[position + offset]) : 0)
            }
            for digit in 0..<4 {
                output.append(digit <= count ? alphabet[Int(group >> UInt32(18 - 6 * digit) & 63)] : padding)
            }
            position += 3
        }
    }

    /// Appends decoded bytes. Both alphabets are accepted, and padding may be missing, as protobuf's JSON allows.
    /// - Returns: false if the text is not base64; `output` is then undefined.
    package static func decode(_ text: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        var count = text.count
        while count > 0, text.count - count < 2, text[count - 1] == padding { count -= 1 }
        guard count == text.count || text.count % 4 == 0, count % 4 != 1 else { return false }
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for position in 0..<count {
            guard let digit = value(of: text[position]) else { return false }
            group = group << 6 | digit
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            output.append(UInt8(truncatingIfNeeded: group >> bits))
            group &= 0xFF
        }
        return true
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
