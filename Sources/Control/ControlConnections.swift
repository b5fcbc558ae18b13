import NIOCore
import Synchronization

/// The connections that are open, up to a bound. At the bound, the one that has been idle for longest makes room for a
/// new one: a connection is idle while the daemon waits for its client, to send a request whole or to take an answer.
/// One whose request is being answered is never closed for another. Any thread.
final class ControlConnections: Sendable {
    private struct Connection {
        var channel: any Channel
        /// Its place in the order in which connections became idle; nil: its request is being answered.
        var idleSince: UInt64?
    }

    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        var turn: UInt64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Takes a new connection, which is idle until its request has arrived.
    /// - Returns: false: every place is taken by a request that is being answered.
    func enter(_ channel: any Channel) -> Bool {
        var evicted: (any Channel)?
        let hasRoom = state.withLock { state in
            if state.connections.count >= limit {
                let idle = state.connections.filter { $0.value.idleSince != nil }
                guard let longest = idle.min(by: { $0.value.idleSince ?? 0 < $1.value.idleSince ?? 0 }) else { return false }
                evicted = longest.value.channel
                state.connections[longest.key] = nil
            }
            state.turn += 1
            state.connections[ObjectIdentifier(channel)] = Connection(channel: channel, idleSince: state.turn)
            return true
        }
        evicted?.close(promise: nil)
        return hasRoom
    }

    func leave(_ channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)] = nil }
    }

    /// A request has arrived.
    func beginRequest(_ channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)]?.idleSince = nil }
    }

    /// The answer is written; the client has to take it and to ask again, or to go.
    func endRequest(_ channel: any Channel) {
        state.withLock { state in
            state.turn += 1
            state.connections[ObjectIdentifier(channel)]?.idleSince = state.turn
        }
    }
}
