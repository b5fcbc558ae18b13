import Platform

/// Decides which clients stay with the thread for those that send little. Pure.
///
/// The kernel lets a thread wait that always has work, for several milliseconds on a busy machine, and a thread that
/// mostly sleeps runs at once when it wakes. So that thread must stay mostly idle.
struct LightLoad {
    static let window = Duration.milliseconds(100)
    /// The processing time that the clients of one user may take in a window. If those of all users together take
    /// more than `totalShare`, the users with more than the average must leave.
    static let userShare = Duration.milliseconds(10)
    static let totalShare = Duration.milliseconds(50)

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
        }
        total += turn
        let mine = used[user, default: .zero] + turn
        used[user] = mine
        return mine <= Self.userShare && (total <= Self.totalShare || mine * used.count <= total)
    }
}
