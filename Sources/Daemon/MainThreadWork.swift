import Control
import Platform
import Synchronization

/// Reloads that other threads ask the main thread for. Bounded by the control socket's connections, each of which
/// has one request at a time; all that wait are answered by one reload.
final class MainThreadWork: Sendable {
    private let signals: SignalWait
    private let waiting = Mutex<[ControlReply]>([])

    init(signals: SignalWait) {
        self.signals = signals
    }

    /// Any thread.
    func reload(_ reply: ControlReply) {
        waiting.withLock { $0.append(reply) }
        signals.wake()
    }

    /// Main thread: who has asked so far.
    func take() -> [ControlReply] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
