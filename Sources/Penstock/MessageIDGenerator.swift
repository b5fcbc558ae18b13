import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes event ids: UUIDs of version 7 (RFC 9562), which begin with the time in milliseconds. The 74 random bits are a
/// counter mixed with a random seed and the process id. An id costs one atomic addition and no system call, and a
/// forked child makes ids that differ from its parent's.
final class MessageIDGenerator: Sendable {
    private let count = Atomic<UInt64>(0)
    private let seed: (UInt64, UInt64)

    init() {
        var random = SystemRandomNumberGenerator()
        seed = (random.next(), random.next())
    }

    /// Appends the text of a new id.
    func append(at time: Date, process: Int32, to text: inout JSONText) {
        let number = count.add(1, ordering: .relaxed).newValue
        let process = UInt64(UInt32(bitPattern: process)) << 32
        // If the clock is outside this range or not a number, the id begins with zeros and only the random bits differ.
        let milliseconds =
            (0..<0xFFFF_FFFF).contains(time.timeIntervalSince1970) ? UInt64(time.timeIntervalSince1970 * 1000) : 0
        let high = milliseconds << 16 | 0x7000 | Self.mix(seed.0 ^ process &+ number) & 0x0FFF
        let low = 0x8000_0000_0000_0000 | Self.mix(seed.1 ^ process &+ number) >> 2
        let start = text.bytes.count
        text.append("00000000-0000-0000-0000-000000000000")
        var bytes = text.bytes.mutableSpan
        var digits = unsafe bytes.mutableBytes
        let (first, second) = (Self.digits(high >> 32), Self.digits(high & 0xFFFF_FFFF))
        let (third, fourth) = (Self.digits(low >> 32), Self.digits(low & 0xFFFF_FFFF))
        digits.storeBytes(of: first.littleEndian, toByteOffset: start, as: UInt64.self)
        Self.storeHalf(of: second, in: &digits, at: start + 9)
        Self.storeHalf(of: second >> 32, in: &digits, at: start + 14)
        Self.storeHalf(of: third, in: &digits, at: start + 19)
        Self.storeHalf(of: third >> 32, in: &digits, at: start + 24)
        digits.storeBytes(of: fourth.littleEndian, toByteOffset: start + 28, as: UInt64.self)
    }

    private static func storeHalf(of digits: UInt64, in bytes: inout MutableRawSpan, at offset: Int) {
        bytes.storeBytes(of: UInt32(truncatingIfNeeded: digits).littleEndian, toByteOffset: offset, as: UInt32.self)
    }

    /// The eight hexadecimal digits of a number below 2^32, the first one in the lowest byte.
    private static func digits(_ number: UInt64) -> UInt64 {
        // Each byte gets the value of one digit. Above 9, adding 6 carries into the upper half of the byte.
        var value = number
        value = (value | value << 16) & 0x0000_FFFF_0000_FFFF
        value = (value | value << 8) & 0x00FF_00FF_00FF_00FF
        value = (value | value << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = ((value &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        let letters = isLetter &* UInt64(UInt8(ascii: "a") - 10 - UInt8(ascii: "0"))
        let characters = value &+ 0x3030_3030_3030_3030 &+ letters
        return characters.byteSwapped
    }

    func make(at time: Date, process: Int32) -> String {
        var text = JSONText()
        append(at: time, process: process, to: &text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// The output function of SplitMix64. It maps different states to different outputs.
    private static func mix(_ state: UInt64) -> UInt64 {
        var z = state &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
