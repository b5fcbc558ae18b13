import Glibc

/// A point on the monotonic clock (CLOCK_MONOTONIC), in nanoseconds. Valid only within one boot of the machine. Sums
/// and differences saturate at the bounds of 64 bits (about 292 years).
package struct Instant: Sendable, Comparable, Hashable {
    package var nanoseconds: Int64
    @inline(__always)
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    package static func + (a: Instant, b: Duration) -> Instant {
        Instant(nanoseconds: a.nanoseconds.saturatingAdd(b.inNanoseconds))
    }
    package static func - (a: Instant, b: Instant) -> Duration {
        .nanoseconds(a.nanoseconds.saturatingSubtract(b.nanoseconds))
    }
}

extension Duration {
    /// Whole nanoseconds. A duration that does not fit saturates at the nearest bound of 64 bits.
    package var inNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.saturatingMultiply(1_000_000_000).saturatingAdd(attoseconds / 1_000_000_000)
    }
}

/// The monotonic clock and the wall clock, behind a protocol so that a simulation can control them. Any thread.
package protocol Clock: Sendable {
    /// The monotonic clock: for waits, deadlines and durations.
    func now() -> Instant
    /// Nanoseconds since 1970-01-01 UTC: for times that are shown or stored. May jump.
    func wallClock() -> Int64
}

/// The machine's clocks.
package struct SystemClock: Clock {
    package init() {}

    package func now() -> Instant { Instant(nanoseconds: Self.read(CLOCK_MONOTONIC)) }
    package func wallClock() -> Int64 { Self.read(CLOCK_REALTIME) }

    /// Nanoseconds of a clock of clock_gettime(2).
    static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Fails only for an unknown clock.
        _ = unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
