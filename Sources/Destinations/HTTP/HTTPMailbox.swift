import Delivery
import Platform
import Synchronization

/// A transfer that has ended: its handle, which is the destination's again, with the answer in it.
struct HTTPCompletion: Sendable {
    var easy: EasyHandle
    var end: HTTPTransferEnd
    /// When it ended.
    var at: Instant
}

/// How a transfer ended. What the answer was is in its EasyHandle.
enum HTTPTransferEnd: Equatable, Sendable {
    case answered
    /// No answer, or not all of it; libcurl's sentence about why.
    case failed(String)
}

/// Where the engine puts the transfers of one destination that have ended, until the next turn of its worker. It holds
/// at most as many as the destination has under way.
final class HTTPMailbox: Sendable {
    private struct State {
        var completions: [HTTPCompletion] = []
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// - Parameter wake: called after each arrival.
    func attach(wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    func put(_ completion: HTTPCompletion) {
        let wake = state.withLock { state in
            state.completions.append(completion)
            return state.wake
        }
        wake?()
    }

    /// In the order of their arrival.
    func take() -> [HTTPCompletion] {
        state.withLock { state in
            guard !state.completions.isEmpty else { return [] }
            defer { state.completions = [] }
            return state.completions
        }
    }
}
