import Platform

/// How far a source is behind. A lane is as late as the newest event that it brought in during the last seconds: an
/// edge that repeats old events, or whose clock is slow, says nothing about the others. The source is as late as its
/// latest lane. A lane without offers is not behind, as far as anybody knows: what keeps a source from reading, it
/// reports as its problem.
struct SourceLag {
    /// For so long, at least, an offer counts; at most twice as long.
    static let period = Duration.seconds(10)

    private var since: Instant?
    /// The least age of an offer, by the bytes of its lane's name: in this period, and in the one before.
    private var current: [[UInt8]: Duration] = [:]
    private var previous: [[UInt8]: Duration] = [:]

    /// - Parameter age: how long ago the newest event of an offer was received first.
    mutating func note(_ age: Duration, of lane: String, at now: Instant) {
        turn(now)
        let lane = Array(lane.utf8)
        guard let least = current[lane] else {
            if current.count < OpenLanes.limit { current[lane] = age }
            return
        }
        current[lane] = min(least, age)
    }

    /// nil: no offer had an age.
    func lag(at now: Instant) -> Duration? {
        guard since != nil else { return nil }
        var later = self
        later.turn(now)
        return later.current.merging(later.previous, uniquingKeysWith: min).values.max() ?? .zero
    }

    private mutating func turn(_ now: Instant) {
        guard let since else { return self.since = now }
        let periods = (now - since) / Self.period
        guard periods >= 1 else { return }
        (previous, current) = (periods < 2 ? current : [:], [:])
        self.since = periods < 2 ? since + Self.period : now
    }
}
