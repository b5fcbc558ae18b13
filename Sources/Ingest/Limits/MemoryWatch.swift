import Platform

/// Decides when free memory is returned to the system after a burst of clients.
///
/// Memory is due once `many` connections have been closed since the last time, and then either few were closed during
/// `quiet` or `patience` has passed.
struct MemoryWatch {
    /// The number of closed connections that makes returning memory worthwhile.
    static let many = 256
    static let quiet = Duration.seconds(2)
    static let patience = Duration.seconds(10)

    private var unreturned = 0
    private var atLastLook = 0
    private var since: Instant?
    private var quietSince: Instant?

    /// Whether `isDue` needs to be called again.
    var isWatching: Bool { unreturned >= Self.many }

    mutating func closed() { unreturned += 1 }

    /// Called about once a second.
    /// - Returns: whether to return memory now.
    mutating func isDue(at now: Instant) -> Bool {
        defer { atLastLook = unreturned }
        guard isWatching else { return false }
        if since == nil { since = now }
        if unreturned - atLastLook >= Self.many / 8 || quietSince == nil { quietSince = now }
        guard let since, let quietSince, now - quietSince >= Self.quiet || now - since >= Self.patience else {
            return false
        }
        unreturned = 0
        self.since = nil
        self.quietSince = nil
        return true
    }

    mutating func check(connections: Int, at now: Instant) {
        if isDue(at: now) { FreeMemory.giveBack() }
    }
}
