import Platform

/// Decides which clients stay with the thread for those that send little. Pure.
///
/// The kernel lets a thread wait that always has work, for several milliseconds on a busy machine, and a thread that
/// mostly sleeps runs at once when it wakes. So that thread must stay mostly idle.
struct LightLoad {
    static let window = Duration.milliseconds(100)
    /// The processing time that the clients of one user may take in a window. If those of all users together take
    /// more than `totalShare`, the users with more than the average must leave.
    static let userShare = Duration.milliseconds(30)
    static let totalShare = Duration.milliseconds(50)
    /// The most that counts of one turn, which is bounded in itself. In what is beyond, the thread has waited for a
    /// processor, and its clients are not to blame.
    static let longestTurn = TurnBudget.time
    /// How long the new clients of a user that has used too much go to the other threads at once. What they send first
    /// may be much, too, and each has some turns before it is known.
    static let exclusion = Duration.seconds(1)

    private var excluded: [ClientUser: Instant] = [:]
    private var used: [ClientUser: Duration] = [:]
    private var total = Duration.zero
    private var end = Instant(nanoseconds: 0)

    /// Notes a turn.
    /// - Returns: whether the client may stay.
    mutating func note(_ turn: Duration, of user: ClientUser, at now: Instant) -> Bool {
        if now >= end {
            used = [:]
            total = .zero
            end = now + Self.window
            excluded = excluded.filter { $0.value > now }
        }
        let counted = min(turn, Self.longestTurn)
        total += counted
        let mine = used[user, default: .zero] + counted
        used[user] = mine
        let stays = mine <= Self.userShare && (total <= Self.totalShare || mine * used.count <= total)
        if !stays { excluded[user] = now + Self.exclusion }
        return stays
    }

    /// Whether a new client of this user goes to another thread.
    func excludes(_ user: ClientUser, at now: Instant) -> Bool { excluded[user].map { now < $0 } ?? false }
}
