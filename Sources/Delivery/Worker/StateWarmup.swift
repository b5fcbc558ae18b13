import Events

/// Shows a router the events before the first one that it is asked about, as far back as its decisions may depend on
/// them. The router's state can thus be rebuilt from the journal, and survives restarts and reloads.
package struct StateWarmup {
    private let log: any EventLog
    private let router: any EventRouter
    private let lookback: Lookback
    private let end: UInt64
    private var position: UInt64
    private var reader: (any EventReader)?
    private var batch = EventBatch()
    private var next = 0
    /// Events that were received earlier are skipped.
    private var since: Int64?

    /// - Parameters:
    ///   - end: the first position that the router will be asked about.
    ///   - start: the position at which the destination began. Earlier events don't concern it.
    /// - Returns: nil: the router needs no earlier events.
    package init?(before end: UInt64, from start: UInt64, _ log: any EventLog, _ router: any EventRouter) {
        guard let lookback = router.lookback, start < end else { return nil }
        self.log = log
        self.router = router
        self.lookback = lookback
        self.end = end
        position = max(start, end - min(end, lookback.positions))
    }

    /// Reads at most about `maximumBytes`.
    /// - Returns: whether events are left to show.
    /// - Throws: when the journal can't be read; the next call continues there.
    package mutating func advance(maximumBytes: Int) throws -> Bool {
        var bound: TurnBound?
        return try advance(maximumBytes: maximumBytes, &bound)
    }

    /// - Parameter bound: ends the call early, between events of one read; nil: unbounded.
    mutating func advance(maximumBytes: Int, _ bound: inout TurnBound?) throws -> Bool {
        let since = try self.since ?? earliestTime()
        self.since = since
        if next == batch.events.count, try !read(maximumBytes: maximumBytes) { return false }
        let mayTakeLong = router.mayTakeLong
        while next < batch.events.count {
            let event = batch.events[next]
            guard event.position < end else { return false }
            next += 1
            guard event.receivedAt >= since else { continue }
            router.recall(event, of: batch)
            if bound?.isOver(mayTakeLong: mayTakeLong) == true, next < batch.events.count { return true }
        }
        position = max(position, batch.next)
        return position < end
    }

    private mutating func read(maximumBytes: Int) throws -> Bool {
        let reader = try self.reader ?? log.makeReader(from: position)
        self.reader = reader
        batch.removeAll()
        batch.next = position
        next = 0
        var isComplete = false
        // A read that failed halfway is repeated from its beginning.
        defer { if !isComplete { batch.removeAll() } }
        guard try reader.read(into: &batch, maximumBytes: maximumBytes) else { return false }
        isComplete = true
        return true
    }

    /// The lookback counts from the last event before `end`. All later events were received after it.
    private func earliestTime() throws -> Int64 {
        var last = EventBatch()
        let reader = try log.makeReader(from: end - 1)
        guard try reader.read(into: &last, maximumBytes: 1), let event = last.events.first else { return .min }
        let (time, overflow) = event.receivedAt.subtractingReportingOverflow(lookback.time)
        return overflow ? .min : time
    }
}
