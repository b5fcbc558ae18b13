import Delivery
import Platform
import Synchronization

/// A transfer that has ended. Its handle, with the response, belongs to the destination again.
struct HTTPCompletion: Sendable {
    var easy: EasyHandle
    var end: HTTPTransferEnd
    /// When the transfer ended.
    var at: Instant
}

/// How a transfer ended. Its EasyHandle holds the response.
enum HTTPTransferEnd: Equatable, Sendable {
    case responded
    /// No response, or an incomplete one. The text is libcurl's description of the error.
    case failed(String)
}

/// Collects the completed transfers of one destination until its worker's next turn. The destination's in-flight limit
/// bounds their number.
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

    /// Returns and removes the completions, in order of arrival.
    func take() -> [HTTPCompletion] {
        state.withLock { state in
            guard !state.completions.isEmpty else { return [] }
            defer { state.completions = [] }
            return state.completions
        }
    }
}
