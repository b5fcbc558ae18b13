import Platform

/// Decides when free memory is returned to the system after a burst of clients.
///
/// Memory is due once `many` connections have been closed since the last time, and then either few were closed during
/// `quiet` or `patience` has passed. A connection that held memory counts as several, and so does a large request.
struct MemoryWatch {
    /// The number of closed connections that makes returning memory worthwhile.
    static let many = 256
    /// A connection counts once more for each of these.
    static let bytes = 16 << 10
    static let quiet = Duration.seconds(2)
    static let patience = Duration.seconds(10)
    /// How long after a return memory is returned once more: routing and destinations finish later than the clients.
    static let aftermath = Duration.seconds(20)

    private var unreturned = 0
    private var atLastLook = 0
    private var since: Instant?
    private var quietSince: Instant?
    private var again: Instant?

    /// Whether `isDue` needs to be called again.
    var isWatching: Bool { unreturned >= Self.many || again != nil }

    /// - Parameter bytes: of memory that the connection held for its client.
    mutating func closed(holding bytes: Int) { unreturned += 1 + bytes / Self.bytes }

    /// - Parameter bytes: of memory that was freed while its connection stays.
    mutating func freed(_ bytes: Int) { unreturned += bytes / Self.bytes }

    /// Called about once a second.
    /// - Returns: whether to return memory now.
    mutating func isDue(at now: Instant) -> Bool {
        defer { atLastLook = unreturned }
        if let again, now >= again {
            self.again = nil
            return true
        }
        guard unreturned >= Self.many else { return false }
        if since == nil { since = now }
        if unreturned - atLastLook >= Self.many / 8 || quietSince == nil { quietSince = now }
        guard let since, let quietSince, now - quietSince >= Self.quiet || now - since >= Self.patience else {
            return false
        }
        unreturned = 0
        self.since = nil
        self.quietSince = nil
        again = now + Self.aftermath
        return true
    }

    mutating func check(connections: Int, at now: Instant) {
        if isDue(at: now) { FreeMemory.giveBack() }
    }
}
