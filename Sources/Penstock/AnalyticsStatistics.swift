/// What became of events so far. Each is in one of these numbers.
public struct AnalyticsStatistics: Sendable, Hashable {
    /// Handed to the providers that were there.
    public var recorded: Int
    /// Ended by middleware.
    public var filtered: Int
    /// Waiting for consent now.
    public var held: Int
    /// Discarded since nobody had agreed to them.
    public var discarded: Int
    /// Dropped since too many were waiting for consent.
    public var dropped: Int
    /// Not recorded since they were invalid, or could not be encoded.
    public var failed: Int

    public init(recorded: Int = 0, filtered: Int = 0, held: Int = 0, discarded: Int = 0, dropped: Int = 0, failed: Int = 0) {
        self.recorded = recorded
        self.filtered = filtered
        self.held = held
        self.discarded = discarded
        self.dropped = dropped
        self.failed = failed
    }
}
