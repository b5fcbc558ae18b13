/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Two lower-case digits per byte.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        bytes.reduce(into: "") { $0 += ($1 < 16 ? "0" : "") + String($1, radix: 16) }
    }
}

/// Bytes as text in which some stand for themselves and all others are written `%XX`.
package enum PercentEncoding {
    /// - Parameter isKept: whether a byte, which is then ASCII, stands for itself.
    package static func encode(
        _ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool = isUnreserved
    ) -> String {
        bytes.reduce(into: "") { text, byte in
            if isKept(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
    }

    /// The bytes of a text in which some are written `%XX`. A `%` without two digits stands for itself.
    package static func decode(_ text: some StringProtocol) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first?.hexDigit, let low = rest.dropFirst().first?.hexDigit {
                bytes.append(high << 4 | low)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// A letter, a digit, or one of `-._~` (RFC 3986, section 2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "-._~".utf8.contains(byte)
    }

    /// An ASCII letter or digit.
    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            || byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit in ASCII.
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
