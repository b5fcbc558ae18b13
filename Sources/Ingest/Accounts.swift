import Platform

/// What each user has of a source: connections, and bytes that are held for them. Decides who is let in, and who has to make
/// room. Pure.
///
/// - At its limit of connections, a user's longest idle connection makes room for a new one. If none has been idle for
///   `idleEnough`, the new one is refused: a client at work is not closed for another.
/// - When too many bytes are held, the user for whom most are held loses the connection that holds most.
struct Accounts {
    typealias Connection = UInt64

    enum Entrance: Equatable {
        case welcome
        /// Welcome; this one of the same user is to be closed.
        case instead(of: Connection)
        case refused
    }

    /// How long a connection has to be idle before another may take its place.
    static let idleEnough = Duration.seconds(1)

    private struct Holding {
        var user: UInt32
        var bytes = 0
        var lastByte: Instant
        /// Not before its first turn: it may have sent something before it was accepted.
        var isIdle = false
    }

    private struct User {
        var connections: Set<Connection> = []
        var bytes = 0
        /// The longest idle ones that the last search found, the longest last. A search looks at all connections, so one
        /// serves many newcomers.
        var idle: [Idle] = []
        /// Not searched again before this.
        var nextSearch: Instant?
    }

    private struct Idle {
        var connection: Connection
        var since: Instant
    }

    /// How many a search finds at most.
    private static let foundAtOnce = 64

    private var holdings: [Connection: Holding] = [:]
    private var users: [UInt32: User] = [:]
    /// Bytes held for all.
    private(set) var bytes = 0

    func connections(of user: UInt32) -> Int { users[user]?.connections.count ?? 0 }

    mutating func enter(_ connection: Connection, user: UInt32, limit: Int, at now: Instant) -> Entrance {
        var entrance = Entrance.welcome
        if connections(of: user) >= limit {
            guard let longest = longestIdle(of: user, at: now) else { return .refused }
            leave(longest)
            entrance = .instead(of: longest)
        }
        holdings[connection] = Holding(user: user, lastByte: now)
        users[user, default: User()].connections.insert(connection)
        return entrance
    }

    private mutating func longestIdle(of user: UInt32, at now: Instant) -> Connection? {
        if let known = takeIdle(of: user) { return known }
        if let next = users[user]?.nextSearch, now < next { return nil }
        var found: [Idle] = []
        for connection in users[user]?.connections ?? [] {
            guard let holding = holdings[connection], holding.isIdle, now - holding.lastByte >= Self.idleEnough else { continue }
            found.append(Idle(connection: connection, since: holding.lastByte))
        }
        found.sort { $0.since > $1.since }
        users[user]?.idle = Array(found.suffix(Self.foundAtOnce))
        // The next one becomes idle enough at some time; looking for it at each attempt would cost too much.
        users[user]?.nextSearch = found.isEmpty ? now + Self.idleEnough / 10 : nil
        return takeIdle(of: user)
    }

    /// The longest idle one that the last search found, if it has been idle since.
    private mutating func takeIdle(of user: UInt32) -> Connection? {
        while let idle = users[user]?.idle.popLast() {
            if let holding = holdings[idle.connection], holding.isIdle, holding.lastByte == idle.since { return idle.connection }
        }
        return nil
    }

    /// The connection is closed. More than once is harmless.
    mutating func leave(_ connection: Connection) {
        guard let holding = holdings.removeValue(forKey: connection) else { return }
        bytes -= holding.bytes
        // In place: a copy would be one of all connections.
        users[holding.user]?.connections.remove(connection)
        users[holding.user]?.bytes -= holding.bytes
        if users[holding.user]?.connections.isEmpty == true { users[holding.user] = nil }
    }

    /// Notes what a connection holds, and when it sent its last byte.
    /// - Parameters:
    ///   - isIdle: nothing of it is unfinished or unanswered.
    ///   - limit: bytes that all may hold.
    /// - Returns: the connection that has to be closed now, and the bytes that its user holds.
    mutating func note(
        _ connection: Connection, bytes held: Int, lastByte: Instant, isIdle: Bool, limit: Int
    ) -> (victim: Connection, user: UInt32, bytes: Int)? {
        // One that has left already makes no difference any more.
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
