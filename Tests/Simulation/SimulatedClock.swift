import Platform

/// Both clocks of a world. Time passes when the world says so, and a little with every look at it, as it
/// does on a machine: so that loops which wait for time to pass end.
final class SimulatedClock: Clock, @unchecked Sendable {
    // One thread: a world has no other.
    private var time: Int64 = 1_000_000_000
    private var wallOffset: Int64 = 1_700_000_000_000_000_000

    func now() -> Instant {
        time += 1_000
        return Instant(nanoseconds: time)
    }

    func wallClock() -> Int64 {
        time += 1_000
        return time + wallOffset
    }

    func advance(_ duration: Duration) { time += duration.inNanoseconds }

    /// Somebody sets the clock.
    func jump(_ duration: Duration) { wallOffset += duration.inNanoseconds }
}
