import Control
import Platform
import Synchronization

/// What other threads ask the main thread to do: what only it decides, and what may block. Bounded
/// by the control socket's connections, each of which has one request at a time.
final class MainThreadWork: Sendable {
    enum Request: Sendable {
        case reload(ControlReply)
        case deadLetters(DeadLetterRequest, ControlReply)
        case replay(ReplayOrder, isDryRun: Bool, ControlReply)
        case cancelReplay(String, ControlReply)
    }

    private let signals: SignalWait
    private let waiting = Mutex<[Request]>([])

    init(signals: SignalWait) {
        self.signals = signals
    }

    /// Any thread.
    func add(_ request: Request) {
        waiting.withLock { $0.append(request) }
        signals.wake()
    }

    /// Main thread: what has been asked for so far, oldest first.
    func take() -> [Request] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
