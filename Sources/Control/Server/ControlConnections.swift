import NIOCore
import Synchronization

/// The open connections, up to a limit. At the limit, a new connection replaces the one that has been idle longest. A
/// connection is idle while the daemon waits for its client to send a complete request or to take an answer. A
/// connection whose request is being answered is never closed for another. Any thread.
final class ControlConnections: Sendable {
    private struct Connection {
        var channel: any Channel
        /// Its position in the order in which connections became idle; nil while its request is being answered.
        var idleSince: UInt64?
    }

    private struct State {
        var connections: [ObjectIdentifier: Connection] = [:]
        var turn: UInt64 = 0
        /// The server has stopped: no connection stays open after its answer.
        var isClosing = false
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Adds a connection, which is idle until its request has arrived.
    /// - Returns: false if every connection is being answered, so that there is no room.
    func enter(_ channel: any Channel) -> Bool {
        var evicted: (any Channel)?
        let hasRoom = state.withLock { state in
            if state.isClosing { return false }
            if state.connections.count >= limit {
                let idle = state.connections.filter { $0.value.idleSince != nil }
                guard let longest = idle.min(by: { $0.value.idleSince ?? 0 < $1.value.idleSince ?? 0 }) else {
                    return false
                }
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

    /// A complete request has arrived.
    func beginRequest(_ channel: any Channel) {
        state.withLock { $0.connections[ObjectIdentifier(channel)]?.idleSince = nil }
    }

    /// The answer is written. The client must take it, then send another request or disconnect.
    /// - Returns: whether the connection may take another request.
    func endRequest(_ channel: any Channel) -> Bool {
        state.withLock { state in
            if state.isClosing { return false }
            state.turn += 1
            state.connections[ObjectIdentifier(channel)]?.idleSince = state.turn
            return true
        }
    }

    /// Closes the idle connections. The others end with their answers.
    func close() {
        let idle = state.withLock { state in
            state.isClosing = true
            return state.connections.values.filter { $0.idleSince != nil }.map(\.channel)
        }
        for channel in idle { channel.close(promise: nil) }
    }
}
