import Platform
import Synchronization

/// Whether clients send mostly lines that are refused. While they do, new clients are accepted more slowly: whoever comes
/// again and again with nonsense would otherwise keep processors busy that sound clients need. Any thread.
final class RefusalPressure: Sendable {
    /// How long it lasts after the last sign of it.
    private static let memory = Duration.milliseconds(100)
    /// Clients that are accepted at once under pressure, and the pause behind them.
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
