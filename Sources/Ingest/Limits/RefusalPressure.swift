import Platform
import Synchronization

/// Whether clients are sending mostly lines that are refused. While they do, new clients are accepted more slowly.
/// Otherwise a client that reconnects repeatedly and sends invalid data would take processor time from well-behaved
/// clients. Any thread.
final class RefusalPressure: Sendable {
    /// How long the pressure lasts after the last sign of it.
    private static let memory = Duration.milliseconds(100)
    /// How many clients are accepted at once under pressure, and the pause after them.
    static let acceptedAtOnce = 20
    static let pause = Duration.milliseconds(4)

    private let lastSign = Atomic<Int64>(.min)

    /// A thread spent most of its time on refused lines.
    func note(at now: Instant) { lastSign.store(now.nanoseconds, ordering: .relaxed) }

    func isHigh(at now: Instant) -> Bool {
        let last = lastSign.load(ordering: .relaxed)
        return last != .min && now.nanoseconds - last < Self.memory.inNanoseconds
    }
}
