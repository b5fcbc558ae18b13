import Dispatch

/// Calls back at a time, on a thread of its own. Any thread.
///
/// `@unchecked`: a dispatch source may be used by any thread.
final class ExpiryTimer: @unchecked Sendable {
    private let queue = DispatchQueue(label: "penstock.nats.expiry")
    private let source: any DispatchSourceTimer

    /// - Parameter body: is passed this timer, to set it again.
    init(_ body: @escaping @Sendable (ExpiryTimer) -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [weak self] in self.map(body) }
        source.activate()
    }

    /// Replaces the time that was set before.
    func set(_ time: ContinuousClock.Instant) {
        let (seconds, attoseconds) = max(time - .now, .zero).components
        source.schedule(
            deadline: .now() + .seconds(Int(seconds))
                + .nanoseconds(Int(attoseconds / 1_000_000_000) + 1_000_000))
    }

    /// No call comes after it.
    func stop() {
        source.cancel()
        queue.sync {}
    }
}
