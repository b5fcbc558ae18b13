/// A destination's deliveries in flight, and the positions that it may be offered again after a crash. A destination
/// that settles at once may be offered again only the events that were in flight. Live delivery only.
struct UnderWay {
    /// Batches that the worker has not settled yet, as seen from outside.
    private var batches: [[UInt64]] = []
    /// Positions that are offered or must be offered again.
    private var unsettled: Set<UInt64> = []
    /// Taken positions that may be offered again.
    private var mayRepeat: Set<UInt64> = []
    /// With `order: user`, an event that waits in a user's queue holds the cursor back, and no settlement above it
    /// is kept.
    var isByUser = false

    /// Records an offered batch. Earlier settlements are kept by now.
    /// - Returns: a position that was settled before a restart and is offered again without a reason.
    mutating func offered(_ positions: [UInt64], isAgain: Bool, _ outside: Outside) -> UInt64? {
        noteKept()
        guard !isAgain else { return nil }
        batches.append(positions)
        unsettled.formUnion(positions)
        guard outside.settlesAtOnce else { return nil }
        return positions.first { outside[$0] == .taken && !mayRepeat.contains($0) }
    }

    mutating func settled(_ position: UInt64) { unsettled.remove(position) }

    /// Records that settled batches are kept, so that a kill does not lose them.
    mutating func noteKept() { batches.removeAll { $0.allSatisfy { !unsettled.contains($0) } } }

    /// The worker ends or restarts. Events in flight may be offered again.
    mutating func interrupt(_ outside: Outside) {
        for positions in batches { mayRepeat.formUnion(positions) }
        batches = []
        unsettled = []
        if isByUser { allowEverything(outside) }
    }

    /// Allows all taken events to be offered again.
    mutating func allowEverything(_ outside: Outside) {
        for position in outside.fates.indices where outside.fates[position] == .taken {
            mayRepeat.insert(UInt64(position))
        }
    }
}
