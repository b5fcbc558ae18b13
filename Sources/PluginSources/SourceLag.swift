import Platform

/// How far a source is behind: the greatest age among the offers of the last seconds. An offer's age is that of its
/// newest event, so a batch that was collected for a while does not count as late. A source without offers is not
/// behind, as far as anybody knows: what keeps it from reading, it reports as its problem.
struct SourceLag {
    /// For so long, at least, an offer counts; at most twice as long.
    static let period = Duration.seconds(10)

    private var since: Instant?
    private var current = Duration.zero
    private var previous = Duration.zero

    mutating func note(_ age: Duration, at now: Instant) {
        turn(now)
        current = max(current, age)
    }

    /// nil: no offer had an age.
    func lag(at now: Instant) -> Duration? {
        guard since != nil else { return nil }
        var later = self
        later.turn(now)
        return max(later.current, later.previous)
    }

    private mutating func turn(_ now: Instant) {
        guard let since else { return since = now }
        let passed = now - since
        guard passed >= Self.period else { return }
        (previous, current) = (passed < Self.period * 2 ? current : .zero, .zero)
        self.since = now
    }
}
