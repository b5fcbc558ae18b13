extension Timestamp {
    /// Whether the text is a time in the form that most clients send, `2026-01-31T12:00:00.000Z`, on a day from the 1st
    /// to the 28th. Takes a few instructions, where `time` takes several for each character.
    /// - Returns: false for all other texts, among them times: ask `time` about those.
    package static func isPlain(_ text: Span<UInt8>) -> Bool {
        guard text.count == 24 else { return false }
        // An exclusive or with the form turns digits into their values, and the marks between them into 0.
        let date = word(text, 0) ^ 0x2d30_302d_3030_3030  // 0000-00-
        let hour = word(text, 8) ^ 0x3030_3a30_3054_3030  // 00T00:00
        let second = word(text, 16) ^ 0x5a30_3030_2e30_303a  // :00.000Z
        let marks = date & 0xff00_00ff_0000_0000 | hour & 0x0000_ff00_00ff_0000 | second & 0xff00_0000_ff00_00ff
        guard marks == 0, areDigits(date), areDigits(hour), areDigits(second) else { return false }
        return number(date, 5) &- 1 < 12 && number(hour, 0) &- 1 < 28 && number(hour, 3) < 24 && number(hour, 6) < 60
            && number(second, 1) < 60
    }

    /// The bytes from an index on; the first is the lowest byte.
    @inline(__always)
    private static func word(_ text: Span<UInt8>, _ index: Int) -> UInt64 {
        // Unsafe only for types with invalid bit patterns; integers have none.
        unsafe text.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
    }

    /// Whether each byte is from 0 to 9: no higher one stays below 128 when 118 is added.
    @inline(__always)
    private static func areDigits(_ word: UInt64) -> Bool {
        (word | (word &+ 0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 == 0
    }

    /// The number of two digits.
    @inline(__always)
    private static func number(_ word: UInt64, _ index: UInt64) -> UInt64 {
        let digits = word >> (8 * index)
        return (digits & 0xff) &* 10 &+ (digits >> 8 & 0xff)
    }
}
