import Control
import Platform
import Synchronization

/// Reload requests for the main thread. One reload answers all that wait. Their number is bounded by the control
/// socket's connections, since each has one request at a time.
final class MainThreadWork: Sendable {
    private let signals: SignalWait
    private let waiting = Mutex<[ControlReply]>([])

    init(signals: SignalWait) {
        self.signals = signals
    }

    /// Queues a reload request and wakes the main thread. Any thread.
    func reload(_ reply: ControlReply) {
        waiting.withLock { $0.append(reply) }
        signals.wake()
    }

    /// Takes all waiting requests. Main thread.
    func take() -> [ControlReply] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
