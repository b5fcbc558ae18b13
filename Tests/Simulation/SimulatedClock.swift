import Platform

/// Both clocks of a world. Time advances when the world advances it, and by 1 µs at each reading, so that loops
/// that wait for time end.
final class SimulatedClock: Clock, @unchecked Sendable {
    // A world has only one thread.
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

    /// Sets the wall clock forward or back.
    func jump(_ duration: Duration) { wallOffset += duration.inNanoseconds }
}
