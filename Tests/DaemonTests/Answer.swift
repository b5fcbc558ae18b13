import Platform
import Synchronization

@testable import Control

/// A reply that keeps its answer.
final class Answer: Sendable {
    private let kept = Mutex<(status: Int, text: String)?>(nil)
    let given = Doorbell()

    var status: Int? { kept.withLock { $0?.status } }
    var text: String { kept.withLock { $0?.text ?? "" } }

    var reply: ControlReply {
        let slot = ControlReply.Slot { answer in
            guard case .whole(let status, _, let body) = answer else { return }
            self.kept.withLock { $0 = (status, String(decoding: body, as: UTF8.self)) }
            self.given.ring()
        }
        return ControlReply(slot: slot) { preconditionFailure("no test asks for lines") }
    }

    /// - Returns: whether the answer arrived within a minute.
    func wait() -> Bool { status != nil || given.wait(until: SystemClock().now() + .seconds(60)) }
}
