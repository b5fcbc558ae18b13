import Platform

/// A journal's identity, generated once and stored in its manifest. Every checksum of a batch or a cursor starts from
/// it.
package struct JournalUUID: Sendable, Equatable, CustomStringConvertible {
    package let bytes: [UInt8]

    /// - Returns: nil unless there are sixteen bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Its bytes as two numbers.
    package var words: (UInt64, UInt64) {
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return (word(bytes[..<8]), word(bytes[8...]))
    }

    /// A random UUID (RFC 9562, version 4).
    package init(using generator: inout some RandomNumberGenerator) {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        self.bytes = bytes
    }

    /// Parses 8-4-4-4-12 hexadecimal digits, the format of `description`.
    package init?(_ text: some StringProtocol) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 32, text.utf8.count == 36 else { return nil }
        var bytes: [UInt8] = []
        for pair in stride(from: 0, to: 32, by: 2) {
            guard let byte = UInt8(String(decoding: digits[pair..<pair + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    package var description: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += Hexadecimal.text(CollectionOfOne(byte))
        }
        return text
    }
}
