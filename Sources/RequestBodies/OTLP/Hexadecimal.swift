/// Bytes as hexadecimal text.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    static func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        let digits = digits
        for index in 0..<bytes.count {
            output.append(digits[Int(bytes[index] >> 4)])
            output.append(digits[Int(bytes[index] & 15)])
        }
    }

    /// Appends decoded bytes. Upper and lower case are accepted.
    /// - Returns: false if the text is not pairs of hexadecimal digits; `output` is then undefined.
    static func decode(_ text: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard text.count % 2 == 0 else { return false }
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = value(of: text[index]), let low = value(of: text[index + 1]) else { return false }
            output.append(high << 4 | low)
        }
        return true
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
