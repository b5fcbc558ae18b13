import Platform
import Testing

/// Arithmetic on numbers from outside never traps. Results are clamped to the range of their type.
@Suite struct SaturatingArithmeticTests {
    static let ends: [Int64] = [.min, .min + 1, -1_000_000_000, -1, 0, 1, 1_000_000_000, .max - 1, .max]

    @Test func `sums, differences and products are exact or clamped`() {
        for a in Self.ends {
            for b in Self.ends {
                func held(_ exact: Int128) -> Int64 { Int64(clamping: exact) }
                #expect(a.saturatingAdd(b) == held(Int128(a) + Int128(b)))
                #expect(a.saturatingSubtract(b) == held(Int128(a) - Int128(b)))
                #expect(a.saturatingMultiply(b) == held(Int128(a) * Int128(b)))
            }
        }
        #expect(UInt64.max.saturatingAdd(1) == .max && UInt64(0).saturatingSubtract(1) == 0)
        #expect(UInt64.max.saturatingMultiply(2) == .max)
    }

    @Test func `instants and durations of any size can be added and subtracted`() {
        let durations: [Duration] = [
            .zero, .nanoseconds(1), .nanoseconds(-1), .nanoseconds(Int64.max), .nanoseconds(Int64.min),
            // The last second that fits 64 bits of nanoseconds, with a fraction that does not fit.
            .seconds(9_223_372_036) + .milliseconds(999), .seconds(-9_223_372_036) - .milliseconds(999),
            .seconds(Int64.max), .seconds(Int64.min),
            Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
        ]
        for end in Self.ends {
            let instant = Instant(nanoseconds: end)
            for duration in durations {
                #expect((instant + duration).nanoseconds == end.saturatingAdd(duration.inNanoseconds))
                #expect(duration > .zero ? instant + duration >= instant : instant + duration <= instant)
            }
            for other in Self.ends {
                #expect((instant - Instant(nanoseconds: other)).inNanoseconds == end.saturatingSubtract(other))
            }
        }
        #expect((Duration.seconds(9_223_372_036) + .milliseconds(999)).inNanoseconds == .max)
        #expect((Duration.seconds(-9_223_372_036) - .milliseconds(999)).inNanoseconds == .min)
    }

    @Test func `a wait with a deadline beyond 64 bits of nanoseconds still sees the ring`() {
        let bell = Doorbell()
        bell.ring()
        #expect(bell.wait(until: SystemClock().now() + .seconds(Int64.max)), "the doorbell was rung before the wait")
    }

    @Test(arguments: [
        (Double.nan, Int64(0)), (.infinity, .max), (-.infinity, .min), (1e308, .max), (-1e308, .min), (0x1p63, .max),
        (-0x1p63, .min),
        (1.9, 1), (-1.9, -1), (0, 0),
    ])
    func `a double is truncated towards zero and clamped to 64 bits`(number: Double, whole: Int64) {
        #expect(Int64(saturating: number) == whole)
    }

    @Test func `the range of all positions has a length`() {
        #expect((0..<UInt64.max).length == .max)
    }
}
