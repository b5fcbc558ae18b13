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
    private var next = 0
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
        var bound: TurnBound?
        return try advance(maximumBytes: maximumBytes, &bound)
    }

    /// - Parameter bound: ends the call early, within what was read; nil: nothing does.
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
        // A read that failed in the middle comes again from its beginning.
        defer { if !isComplete { batch.removeAll() } }
        guard try reader.read(into: &batch, maximumBytes: maximumBytes) else { return false }
        isComplete = true
        return true
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
