/// How a connection has behaved in its recent turns. Pure.
struct Conduct {
    enum Standing {
        /// Trusted, and its last turn was light.
        case light
        /// Its recent turns brought events, and hardly any refused lines.
        case trusted
        case other
    }

    /// A turn that processes at most this many bytes is light.
    static let lightTurn = 16 << 10

    /// A connection sends much once it has had this many turns that were not light. A client that sends little has
    /// fewer, even if a busy machine keeps it or this process waiting now and then.
    static let heavyTurnsToLeave = 8

    /// This many light turns make up for one that was not.
    static let lightTurnsPerHeavy = 64

    /// A connection that has sent much counts as one that sends little after this many light turns in a row. They
    /// make up for all others, so it does not leave again at once.
    static let lightTurnsToReturn = 1024

    private(set) var isTrusted = false
    /// Whether most lines of the last turn were refused.
    private(set) var isSuspect = false
    /// The light turns since the last other one. Of a new connection, 1.
    private(set) var lightTurns = 1
    private var isLight: Bool { lightTurns > 0 }
    /// The turns that were not light, less those that light turns have made up for.
    private var heavyTurns = 0
    /// Light turns that have not made up for another one yet.
    private var credit = 0

    /// Whether the connection belongs to a loop for clients that send much.
    var sendsMuch: Bool { heavyTurns >= Self.heavyTurnsToLeave }

    var standing: Standing { !isTrusted ? .other : isLight ? .light : .trusted }

    /// The loop for clients that send little does not keep it: it is not to be asked again soon.
    mutating func isTurnedAway() { (lightTurns, heavyTurns) = (0, Self.heavyTurnsToLeave) }

    /// - Parameter hasMore: the turn has left input that was read.
    mutating func note(_ turn: TurnBudget, hasMore: Bool) {
        if turn.bytes <= Self.lightTurn && !hasMore {
            lightTurns = min(lightTurns + 1, Self.lightTurnsToReturn)
            credit += 1
            if credit == Self.lightTurnsPerHeavy { (credit, heavyTurns) = (0, max(heavyTurns - 1, 0)) }
        } else {
            lightTurns = 0
            heavyTurns = min(heavyTurns + 1, Self.heavyTurnsToLeave)
        }
        let refused = TurnBudget.refusals - turn.refusalsLeft
        guard turn.accepted + refused > 0 else { return }
        isSuspect = refused > turn.accepted
        isTrusted = refused == 0 || (isTrusted && !isSuspect)
    }
}
