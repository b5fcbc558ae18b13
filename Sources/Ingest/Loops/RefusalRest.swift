import Platform

/// The time in which a loop serves only trusted connections, after it has spent most of a round on lines that were
/// refused. Pure.
///
/// It rests 19 times as long as those lines took, but at most `longest`. So clients that send invalid data get at most
/// a twentieth of a processor, and well-behaved clients get all that they need.
struct RefusalRest {
    static let longest = Duration.milliseconds(20)
    static let factor = 19

    private(set) var end: Instant?

    mutating func update(at now: Instant) {
        if let end, now >= end { self.end = nil }
    }

    /// - Returns: whether a rest begins.
    mutating func note(refusals: Duration, ofRound round: Duration, at now: Instant) -> Bool {
        // Multiplying a Duration is slow, and this comes after each round.
        guard refusals > round - refusals else { return false }
        end = now + min(refusals * Self.factor, Self.longest)
        return true
    }
}
