/// Events that a provider had to drop.
package struct Drops {
    package let first: RecordedEvent
    package private(set) var count = 1

    package init(_ first: RecordedEvent) { self.first = first }

    /// Counts an event.
    package static func add(_ event: RecordedEvent, to drops: inout Drops?) {
        if drops == nil { drops = Drops(event) } else { drops?.count += 1 }
    }
}

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

    /// - Parameter newDrops: Returns the events dropped since the last call; nil if there are none.
    /// - Returns: What to report now.
    package mutating func report(now: Instant, newDrops: () -> Drops?) -> Diagnostic? {
        if let next, now < next { return nil }
        guard let drops = newDrops() else {
            last = nil
            return nil
        }
        last = now
        let others =
            switch drops.count {
            case 1: ""
            case 2: ", as was 1 after it"
            default: ", as were \(drops.count - 1) after it"
            }
        var diagnostic = Diagnostic(.eventsDropped, about: drops.first, "was dropped\(others): \(reason)")
        diagnostic.events = drops.count
        return diagnostic
    }
}
