import Platform

/// Decides when memory that a burst of clients left behind is given back to the system.
///
/// Once many connections have been closed since the last time, and then not many in a whole `quiet`, or `patience` is over.
struct MemoryWatch {
    /// Connections closed that are worth it.
    static let many = 256
    static let quiet = Duration.seconds(2)
    static let patience = Duration.seconds(10)

    private var unreturned = 0
    private var atLastLook = 0
    private var since: Instant?
    private var quietSince: Instant?

    /// Whether it wants to be asked again.
    var isWatching: Bool { unreturned >= Self.many }

    mutating func closed() { unreturned += 1 }

    /// - Returns: whether to give memory back now. About once a second.
    mutating func isDue(at now: Instant) -> Bool {
        defer { atLastLook = unreturned }
        guard isWatching else { return false }
        if since == nil { since = now }
        if unreturned - atLastLook >= Self.many / 8 || quietSince == nil { quietSince = now }
        guard let since, let quietSince, now - quietSince >= Self.quiet || now - since >= Self.patience else { return false }
        unreturned = 0
        self.since = nil
        self.quietSince = nil
        return true
    }

    mutating func look(connections: Int, at now: Instant) {
        if isDue(at: now) { FreeMemory.giveBack() }
    }
}
