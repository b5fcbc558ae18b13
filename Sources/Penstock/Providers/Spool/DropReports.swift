/// Reports the events that a provider had to drop, at most once a second. Use it from one thread.
package struct DropReports {
    package typealias Instant = ContinuousClock.Instant

    private static let interval: Duration = .seconds(1)

    private let reason: String
    private var last: Instant?

    /// - Parameters:
    ///   - spoolBytes: nil if the provider has no spool.
    ///   - advice: What to check, such as `that the daemon runs`.
    package init(queueEvents: Int, queueBytes: Int, spoolBytes: Int?, advice: String) {
        let spool = spoolBytes.map { "spoolBytes \($0)" } ?? "not configured"
        reason =
            "no room in memory (queueEvents \(queueEvents), queueBytes \(queueBytes)) and spool (\(spool)); "
            + "check \(advice), or raise these limits"
    }

    /// The time of the next report; nil if none is due.
    package var next: Instant? { last.map { $0 + Self.interval } }

    /// - Parameter newDrops: Returns how many events were dropped since the last call.
    /// - Returns: What to report now.
    package mutating func report(now: Instant, newDrops: () -> Int) -> Diagnostic? {
        if let next, now < next { return nil }
        let drops = newDrops()
        last = drops > 0 ? now : nil
        guard drops > 0 else { return nil }
        return Diagnostic(
            .eventsDropped, "\(drops) \(drops == 1 ? "event was" : "events were") dropped: \(reason)", events: drops)
    }
}
