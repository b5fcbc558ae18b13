import Events

/// Shows a router the events before the first one that it is asked about, as far back as its answer may depend on
/// them: what it has to remember is in the journal, so that a restart and a reload forget nothing.
package struct Recollection {
    private let log: any EventLog
    private let router: any EventRouter
    private let lookback: Lookback
    private let end: UInt64
    private var position: UInt64
    private var reader: (any EventReader)?
    private var batch = EventBatch()
    /// The earliest time of receipt that counts.
    private var since: Int64?

    /// - Parameters:
    ///   - end: the first position that the router will be asked about.
    ///   - start: where its destination began: what came before is none of its business.
    /// - Returns: nil: there is nothing that it has to be shown.
    package init?(before end: UInt64, from start: UInt64, _ log: any EventLog, _ router: any EventRouter) {
        guard let lookback = router.lookback, start < end else { return nil }
        self.log = log
        self.router = router
        self.lookback = lookback
        self.end = end
        position = max(start, end - min(end, lookback.positions))
    }

    /// Reads at most about so many bytes.
    /// - Returns: whether there is more to do.
    /// - Throws: when the journal cannot be read; the next call goes on there.
    package mutating func advance(maximumBytes: Int) throws -> Bool {
        let since = try self.since ?? earliestTime()
        self.since = since
        let reader = try self.reader ?? log.makeReader(from: position)
        self.reader = reader
        batch.removeAll()
        batch.next = position
        guard try reader.read(into: &batch, maximumBytes: maximumBytes) else { return false }
        for event in batch.events {
            guard event.position < end else { return false }
            if event.receivedAt >= since { router.recall(event, of: batch) }
        }
        position = max(position, batch.next)
        return position < end
    }

    /// By the last event before `end`: all that follow were received later.
    private func earliestTime() throws -> Int64 {
        var last = EventBatch()
        let reader = try log.makeReader(from: end - 1)
        guard try reader.read(into: &last, maximumBytes: 1), let event = last.events.first else { return .min }
        let (time, overflow) = event.receivedAt.subtractingReportingOverflow(lookback.time)
        return overflow ? .min : time
    }
}
