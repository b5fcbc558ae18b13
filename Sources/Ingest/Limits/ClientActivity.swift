import Platform
import Synchronization

/// When a connection was last active, and whether it is idle. Its event loop writes this in each turn, without the lock
/// of `UserConnections`, which reads it when it looks for an idle connection. Any thread.
final class ClientActivity: Sendable {
    struct State: Equatable {
        var lastByte: Instant
        /// False until the connection's first turn: the client may have sent data before it was accepted.
        var isIdle: Bool
    }

    /// The nanoseconds of `lastByte`, twice, and whether it is idle.
    private let word: Atomic<Int64>

    init(_ state: State) {
        word = Atomic(Self.word(state))
    }

    /// Another thread may see it a little later. A connection that is chosen to be closed finishes its work first.
    var state: State {
        get {
            let word = word.load(ordering: .relaxed)
            return State(lastByte: Instant(nanoseconds: word >> 1), isIdle: word & 1 != 0)
        }
        set { word.store(Self.word(newValue), ordering: .relaxed) }
    }

    private static func word(_ state: State) -> Int64 {
        state.lastByte.nanoseconds << 1 | (state.isIdle ? 1 : 0)
    }
}
