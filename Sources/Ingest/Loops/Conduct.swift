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

    /// A connection that has sent much counts as one that sends little after this many light turns in a row.
    static let lightTurnsToReturn = 1024

    private(set) var isTrusted = false
    /// Whether most lines of the last turn were refused.
    private(set) var isSuspect = false
    /// The light turns since the last other one. Of a new connection, 1.
    private(set) var lightTurns = 1
    private var isLight: Bool { lightTurns > 0 }

    var standing: Standing { !isTrusted ? .other : isLight ? .light : .trusted }

    /// The loop for clients that send little does not take it now: it is not to be asked again soon.
    mutating func isTurnedAway() { lightTurns = 0 }

    /// - Parameter hasMore: the turn has left input that was read.
    mutating func note(_ turn: TurnBudget, hasMore: Bool) {
        lightTurns = turn.bytes <= Self.lightTurn && !hasMore ? min(lightTurns + 1, Self.lightTurnsToReturn) : 0
        let refused = TurnBudget.refusals - turn.refusalsLeft
        guard turn.accepted + refused > 0 else { return }
        isSuspect = refused > turn.accepted
        isTrusted = refused == 0 || (isTrusted && !isSuspect)
    }
}
