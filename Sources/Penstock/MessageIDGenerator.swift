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
        var digits = text.bytes.mutableSpan
        var position = start
        for nibble in 0..<32 {
            if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 { position += 1 }
            let value = UInt8(truncatingIfNeeded: (nibble < 16 ? high : low) >> UInt64(60 - nibble % 16 * 4)) & 15
            digits[position] = JSONText.hexDigit(value)
            position += 1
        }
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
