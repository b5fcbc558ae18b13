import Delivery
import Synchronization

/// The end of a journal, as a test sets it.
final class FakeBound: PositionBound {
    struct State {
        var now: UInt64
        /// nil: verified.
        var unverified: UInt64?
        var verifications = 0
        var error: (any Error)?
    }

    let state: Mutex<State>
    let journal = [UInt8](repeating: 7, count: 16)

    init(end: UInt64) { state = Mutex(State(now: end, unverified: end)) }

    var now: UInt64 { state.withLock { $0.now } }
    var end: UInt64 { state.withLock { $0.unverified ?? $0.now } }
    var verifications: Int { state.withLock { $0.verifications } }

    func verify() throws {
        try state.withLock { state in
            if let error = state.error { throw error }
            state.unverified = nil
            state.verifications += 1
        }
    }

    func refuse(at end: UInt64) throws { state.withLock { $0.unverified = $0.unverified ?? end } }

    /// New events arrive.
    func grow(to end: UInt64) { state.withLock { $0.now = end } }

    /// The daemon starts again, with a journal that ends here.
    func restart(at end: UInt64) {
        state.withLock {
            $0.now = end
            $0.unverified = $0.unverified ?? end
        }
    }
}
