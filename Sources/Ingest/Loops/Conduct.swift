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

    private(set) var isTrusted = false
    /// Whether most lines of the last turn were refused.
    private(set) var isSuspect = false
    private var isLight = false

    var standing: Standing { !isTrusted ? .other : isLight ? .light : .trusted }

    /// - Parameter hasMore: the turn has left input that was read.
    mutating func note(_ turn: TurnBudget, hasMore: Bool) {
        isLight = turn.bytes <= Self.lightTurn && !hasMore
        let refused = TurnBudget.refusals - turn.refusalsLeft
        guard turn.accepted + refused > 0 else { return }
        isSuspect = refused > turn.accepted
        isTrusted = refused == 0 || (isTrusted && !isSuspect)
    }
}
