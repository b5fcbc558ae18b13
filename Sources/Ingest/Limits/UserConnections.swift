import Platform

/// Tracks how many connections and how many buffered bytes each user has on a source. Decides which client may connect
/// and which connection must be closed for it. Pure.
///
/// - When a user has reached the limit of connections, a new connection replaces the user's connection that has been
///   idle longest. If none has been idle for `idleEnough`, the new connection is refused: an active connection is never
///   closed for a new one.
/// - Connections that their clients have closed already are admitted beyond that limit, up to the same number again.
///   Only what they have sent is left to read: after a pause of the daemon, many such clients wait.
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
        var user: ClientUser
        var bytes = 0
        let activity: ClientActivity
        /// Admitted beyond the limit, because its client had closed it.
        var isEnded = false
    }

    private struct User {
        var connections: Set<Connection> = []
        /// How many of them were admitted beyond the limit.
        var ended = 0
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

    /// The connections that held the most bytes of the user who held the most, at the time of a search. A search visits
    /// all of the user's connections, so its result serves several evictions.
    private struct Largest {
        var user: ClientUser
        /// The largest last.
        var connections: [(connection: Connection, bytes: Int)]
        /// The most bytes that any other user has held since, or more.
        var others: Int
    }

    /// How many connections one search returns at most.
    private static let foundAtOnce = 64

    private var largest: Largest?
    private var holdings: [Connection: Holding] = [:]
    private var users: [ClientUser: User] = [:]
    /// Bytes buffered for all users together.
    private(set) var bytes = 0
    /// Connections that must be closed and are still open, with their bytes.
    private var closing: [Connection: Int] = [:]
    /// Bytes of those connections, which no longer count as buffered.
    private(set) var closingBytes = 0

    func connections(of user: ClientUser) -> Int { users[user]?.connections.count ?? 0 }

    /// - Parameters:
    ///   - activity: the connection's; a new one if nil.
    ///   - hasEnded: whether the client has closed the connection. Called only at the limit.
    mutating func enter(
        _ connection: Connection, user: ClientUser, limit: Int, at now: Instant, activity: ClientActivity? = nil,
        hasEnded: () -> Bool = { false }
    ) -> Decision {
        var decision = Decision.admitted
        var isEnded = false
        let ended = users[user]?.ended ?? 0
        if connections(of: user) - ended >= limit {
            if ended < limit, hasEnded() {
                isEnded = true
            } else if let longest = longestIdle(of: user, at: now) {
                remove(longest)
                decision = .replacing(longest)
            } else {
                return .refused
            }
        }
        let activity = activity ?? ClientActivity(.init(lastByte: now, isIdle: false))
        holdings[connection] = Holding(user: user, activity: activity, isEnded: isEnded)
        users[user, default: User()].connections.insert(connection)
        if isEnded { users[user]?.ended += 1 }
        return decision
    }

    private mutating func longestIdle(of user: ClientUser, at now: Instant) -> Connection? {
        if let known = takeIdle(of: user) { return known }
        if let next = users[user]?.nextSearch, now < next { return nil }
        var found: [Idle] = []
        for connection in users[user]?.connections ?? [] {
            guard let holding = holdings[connection], !holding.isEnded else { continue }
            let state = holding.activity.state
            guard state.isIdle, now - state.lastByte >= Self.idleEnough else { continue }
            found.append(Idle(connection: connection, since: state.lastByte))
        }
        found.sort { $0.since > $1.since }
        users[user]?.idle = Array(found.suffix(Self.foundAtOnce))
        // Some connection will become idle enough eventually. A search at every attempt would cost too much.
        users[user]?.nextSearch = found.isEmpty ? now + Self.idleEnough / 10 : nil
        return takeIdle(of: user)
    }

    /// The longest idle connection that the last search found, if it has not been active since.
    private mutating func takeIdle(of user: ClientUser) -> Connection? {
        while let idle = users[user]?.idle.popLast() {
            let unchanged = ClientActivity.State(lastByte: idle.since, isIdle: true)
            if let holding = holdings[idle.connection], holding.activity.state == unchanged { return idle.connection }
        }
        return nil
    }

    /// Removes a connection that is closed. Calling it again has no effect.
    mutating func leave(_ connection: Connection) {
        if let bytes = closing.removeValue(forKey: connection) { closingBytes -= bytes }
        remove(connection)
    }

    private mutating func remove(_ connection: Connection) {
        guard let holding = holdings.removeValue(forKey: connection) else { return }
        bytes -= holding.bytes
        // Mutate in place: a copy would duplicate the whole set of connections.
        users[holding.user]?.connections.remove(connection)
        if holding.isEnded { users[holding.user]?.ended -= 1 }
        users[holding.user]?.bytes -= holding.bytes
        if users[holding.user]?.connections.isEmpty == true { users[holding.user] = nil }
    }

    /// Updates a connection's buffered bytes.
    /// - Parameter limit: bytes that all connections together may buffer.
    /// - Returns: the connection that must be closed now, with its user and that user's buffered bytes; or nil.
    mutating func note(
        _ connection: Connection, bytes held: Int, limit: Int
    ) -> (victim: Connection, user: ClientUser, bytes: Int)? {
        // A connection that was removed already no longer counts.
        guard var holding = holdings[connection] else { return nil }
        let change = held - holding.bytes
        if change == 0 { return nil }
        holding.bytes = held
        holdings[connection] = holding
        users[holding.user]?.bytes += change
        bytes += change
        let total = users[holding.user]?.bytes ?? 0
        if let known = largest, known.user != holding.user { largest?.others = max(known.others, total) }
        guard bytes > limit, change > 0, let (user, largestKnown) = takeLargest() else { return nil }
        var victim = largestKnown
        if user == holding.user, let other = holdings[victim]?.bytes, held > other {
            // It has grown since the search.
            largest?.connections.append((victim, other))
            victim = connection
        }
        let answer = (victim: victim, user: user, bytes: users[user]?.bytes ?? 0)
        let held = holdings[victim]?.bytes ?? 0
        closing[victim] = held
        closingBytes += held
        remove(victim)
        return answer
    }

    private mutating func takeLargest() -> (ClientUser, Connection)? {
        for isSecondTry in [false, true] {
            while let known = largest, users[known.user]?.bytes ?? 0 >= known.others,
                let found = largest?.connections.popLast()
            {
                // Connection ids are unique, so a connection of this id is the same one.
                if let holding = holdings[found.connection], holding.bytes >= found.bytes {
                    return (known.user, found.connection)
                }
            }
            if !isSecondTry { searchLargest() }
        }
        return nil
    }

    private mutating func searchLargest() {
        largest = nil
        guard let user = users.max(by: { $0.value.bytes < $1.value.bytes }) else { return }
        let others = users.reduce(0) { $1.key == user.key ? $0 : max($0, $1.value.bytes) }
        var found: [(connection: Connection, bytes: Int)] = []
        for connection in user.value.connections {
            if let bytes = holdings[connection]?.bytes, bytes > 0 { found.append((connection, bytes)) }
        }
        found.sort { $0.bytes < $1.bytes }
        largest = Largest(user: user.key, connections: Array(found.suffix(Self.foundAtOnce)), others: others)
    }
}
