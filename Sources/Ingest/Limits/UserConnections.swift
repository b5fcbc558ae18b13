import Platform

/// Tracks how many connections and how many buffered bytes each user has on a source. Decides which client may connect
/// and which connection must be closed for it. Pure.
///
/// - When a user has reached the limit of connections, a new connection replaces the user's connection that has been
///   idle longest. If none has been idle for `idleEnough`, the new connection is refused: an active connection is never
///   closed for a new one.
/// - When too many bytes are buffered, the user with the most buffered bytes loses the connection that holds the most.
struct UserConnections {
    typealias Connection = UInt64

    enum Decision: Equatable {
        case admitted
        /// Admitted; this connection of the same user must be closed.
        case replacing(Connection)
        case refused
    }

    /// How long a connection must be idle before a new one may replace it.
    static let idleEnough = Duration.seconds(1)

    private struct Holding {
        var user: UInt32
        var bytes = 0
        var lastByte: Instant
        /// False until the connection's first turn: the client may have sent data before it was accepted.
        var isIdle = false
    }

    private struct User {
        var connections: Set<Connection> = []
        var bytes = 0
        /// The longest idle connections that the last search found, in the order of idle time, longest last. A search
        /// visits all of the user's connections, so its result serves several new connections.
        var idle: [Idle] = []
        /// No search happens before this time.
        var nextSearch: Instant?
    }

    private struct Idle {
        var connection: Connection
        var since: Instant
    }

    /// How many connections one search returns at most.
    private static let foundAtOnce = 64

    private var holdings: [Connection: Holding] = [:]
    private var users: [UInt32: User] = [:]
    /// Bytes buffered for all users together.
    private(set) var bytes = 0

    func connections(of user: UInt32) -> Int { users[user]?.connections.count ?? 0 }

    mutating func enter(_ connection: Connection, user: UInt32, limit: Int, at now: Instant) -> Decision {
        var decision = Decision.admitted
        if connections(of: user) >= limit {
            guard let longest = longestIdle(of: user, at: now) else { return .refused }
            leave(longest)
            decision = .replacing(longest)
        }
        holdings[connection] = Holding(user: user, lastByte: now)
        users[user, default: User()].connections.insert(connection)
        return decision
    }

    private mutating func longestIdle(of user: UInt32, at now: Instant) -> Connection? {
        if let known = takeIdle(of: user) { return known }
        if let next = users[user]?.nextSearch, now < next { return nil }
        var found: [Idle] = []
        for connection in users[user]?.connections ?? [] {
            guard let holding = holdings[connection], holding.isIdle, now - holding.lastByte >= Self.idleEnough else {
                continue
            }
            found.append(Idle(connection: connection, since: holding.lastByte))
        }
        found.sort { $0.since > $1.since }
        users[user]?.idle = Array(found.suffix(Self.foundAtOnce))
        // Some connection will become idle enough eventually. A search at every attempt would cost too much.
        users[user]?.nextSearch = found.isEmpty ? now + Self.idleEnough / 10 : nil
        return takeIdle(of: user)
    }

    /// The longest idle connection that the last search found, if it has not been active since.
    private mutating func takeIdle(of user: UInt32) -> Connection? {
        while let idle = users[user]?.idle.popLast() {
            if let holding = holdings[idle.connection], holding.isIdle, holding.lastByte == idle.since {
                return idle.connection
            }
        }
        return nil
    }

    /// Removes a connection. Calling it again has no effect.
    mutating func leave(_ connection: Connection) {
        guard let holding = holdings.removeValue(forKey: connection) else { return }
        bytes -= holding.bytes
        // Mutate in place: a copy would duplicate the whole set of connections.
        users[holding.user]?.connections.remove(connection)
        users[holding.user]?.bytes -= holding.bytes
        if users[holding.user]?.connections.isEmpty == true { users[holding.user] = nil }
    }

    /// Updates a connection's buffered bytes and the time of its last byte.
    /// - Parameters:
    ///   - isIdle: nothing from this client is unfinished, unacknowledged or unsent.
    ///   - limit: bytes that all connections together may buffer.
    /// - Returns: the connection that must be closed now, with its user and that user's buffered bytes; or nil.
    mutating func note(
        _ connection: Connection, bytes held: Int, lastByte: Instant, isIdle: Bool, limit: Int
    ) -> (victim: Connection, user: UInt32, bytes: Int)? {
        // A connection that was removed already no longer counts.
        guard var holding = holdings[connection] else { return nil }
        let change = held - holding.bytes
        holding.bytes = held
        holding.lastByte = lastByte
        holding.isIdle = isIdle
        holdings[connection] = holding
        users[holding.user]?.bytes += change
        bytes += change
        guard bytes > limit, change > 0, let user = users.max(by: { $0.value.bytes < $1.value.bytes }),
            let victim = user.value.connections.max(by: { holdings[$0]?.bytes ?? 0 < holdings[$1]?.bytes ?? 0 })
        else { return nil }
        let answer = (victim: victim, user: user.key, bytes: user.value.bytes)
        leave(victim)
        return answer
    }
}
