/// The number of events so far, by outcome. Each event is counted in exactly one of these numbers.
public struct AnalyticsStatistics: Sendable, Hashable {
    /// Passed to the providers that were registered at the time.
    public var recorded: Int
    /// Removed by middleware.
    public var filtered: Int
    /// Currently held until the user decides about consent.
    public var held: Int
    /// Discarded because the user had not consented.
    public var discarded: Int
    /// Dropped because too many events were waiting for consent.
    public var dropped: Int
    /// Not recorded because the event was invalid or could not be encoded.
    public var failed: Int

    /// Creates statistics with the given numbers, for comparisons.
    public init(
        recorded: Int = 0, filtered: Int = 0, held: Int = 0, discarded: Int = 0, dropped: Int = 0, failed: Int = 0
    ) {
        self.recorded = recorded
        self.filtered = filtered
        self.held = held
        self.discarded = discarded
        self.dropped = dropped
        self.failed = failed
    }
}
