#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// Makes ids for events: UUIDs of version 7 (RFC 9562), which begin with the time in milliseconds. Their
/// 74 random bits are a count of this process' events, mixed with a seed and the process' number: one
/// addition for each id, no system call, and a child that was forked goes on with ids of its own.
final class MessageIDGenerator: Sendable {
    private let count = Atomic<UInt64>(0)
    private let seed: (UInt64, UInt64)

    init() {
        var random = SystemRandomNumberGenerator()
        seed = (random.next(), random.next())
    }

    /// Appends an id's text.
    func append(at time: Date, process: Int32, to text: inout JSONText) {
        let number = count.add(1, ordering: .relaxed).newValue
        let process = UInt64(UInt32(bitPattern: process)) << 32
        // A clock that is set before 1970 has no ids of its own; the random bits do.
        let milliseconds = UInt64(max(0, min(time.timeIntervalSince1970, 0xFFFF_FFFF) * 1000))
        let high = milliseconds << 16 | 0x7000 | Self.mix(seed.0 ^ process &+ number) & 0x0FFF
        let low = 0x8000_0000_0000_0000 | Self.mix(seed.1 ^ process &+ number) >> 2
        for nibble in 0..<32 {
            if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 { text.append(byte: "-") }
            text.append(hexDigit: UInt8(truncatingIfNeeded: (nibble < 16 ? high : low) >> UInt64(60 - nibble % 16 * 4)) & 15)
        }
    }

    func make(at time: Date, process: Int32) -> String {
        var text = JSONText()
        append(at: time, process: process, to: &text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// SplitMix64's output for a state: each state has another one.
    private static func mix(_ state: UInt64) -> UInt64 {
        var z = state &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
