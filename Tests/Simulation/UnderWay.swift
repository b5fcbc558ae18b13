/// What a destination has in hand, and what it may be offered again after an end: with what it settles at once, nothing but
/// what was in flight. Live delivery only.
struct UnderWay {
    /// Batches that the worker has not settled yet, as far as can be seen from outside.
    private var batches: [[UInt64]] = []
    /// Positions on offer, or to be offered again.
    private var unsettled: Set<UInt64> = []
    /// It has taken these, and may be offered them again.
    private var mayRepeat: Set<UInt64> = []
    /// With `order: user`, what waits in a lane holds the cursor back, and nothing above it is kept.
    var isByUser = false

    /// A batch is offered. Whatever was settled before has been kept by now.
    /// - Returns: a position that was settled in an earlier life, and comes again.
    mutating func offered(_ positions: [UInt64], isAgain: Bool, _ outside: Outside) -> UInt64? {
        noteKept()
        guard !isAgain else { return nil }
        batches.append(positions)
        unsettled.formUnion(positions)
        guard outside.settlesAtOnce else { return nil }
        return positions.first { outside[$0] == .taken && !mayRepeat.contains($0) }
    }

    mutating func settled(_ position: UInt64) { unsettled.remove(position) }

    /// What is settled is kept: a kill does not take it back.
    mutating func noteKept() { batches.removeAll { $0.allSatisfy { !unsettled.contains($0) } } }

    /// The worker ends, or begins anew: what was in flight may come again.
    mutating func interrupt(_ outside: Outside) {
        for positions in batches { mayRepeat.formUnion(positions) }
        batches = []
        unsettled = []
        if isByUser { allowEverything(outside) }
    }

    /// Anything may come again that it has taken until now.
    mutating func allowEverything(_ outside: Outside) {
        for position in outside.fates.indices where outside.fates[position] == .taken { mayRepeat.insert(UInt64(position)) }
    }
}
