import Events
import Platform

/// Reads the journal, routes each event and collects the routed events into batches. It allocates nothing per event:
/// the inbound batch and the outbound buffers are reused.
// Not copyable: a copy counts references to a dozen members, and a worker looks at its intake ten times a turn.
struct Intake: ~Copyable {
    /// Bytes per read: small enough to stay in the processor's cache while they are routed, large enough that the cost
    /// of a read doesn't show.
    private static let readSize = 256 << 10
    /// Half of the least that the journal keeps in memory.
    private static let mostUnread = 128 << 10
    /// Events that the router may reject before their dead letters must be stored.
    private static let refusedLimit = 256

    private let log: any EventLog
    private let router: any EventRouter
    private let tap: (any DeliveryTap)?
    private var warmup: StateWarmup?
    private var reader: (any EventReader)?
    private var inbound = EventBatch()
    private var next = 0

    var builder: BatchBuilder
    /// Everything below is routed.
    private(set) var position: UInt64
    /// Ascending ranges above the cursor that were settled before a restart. Their events are not routed again.
    let settledBefore: [Range<UInt64>]
    /// The index of the first range that doesn't lie below `position`.
    private var nextSettled = 0
    /// The last read reached the end of the log.
    private(set) var isExhausted = false
    /// Counts of filtered events since the last `takeFiltered`, by reason. There are only a few reasons.
    private var filtered: [(reason: String, count: UInt64)] = []
    private var lastReason = 0
    /// The average size of the events of the last read.
    private var eventSize = readSize
    /// Why the reader has left out events of the inbound batch; nil: it was read without a selection.
    private var leftOutReason: String?

    /// - Parameters:
    ///   - warmup: the earlier events that the router sees first.
    ///   - settled: ranges above `position` whose events are settled already.
    ///   - tap: sees the router's verdicts.
    init(
        log: any EventLog, router: any EventRouter, position: UInt64, _ warmup: StateWarmup?,
        builder: BatchBuilder, settled: [Range<UInt64>] = [], tap: (any DeliveryTap)? = nil
    ) {
        self.tap = tap
        settledBefore = settled
        self.log = log
        self.router = router
        self.position = position
        self.warmup = warmup
        self.builder = builder
    }

    /// The router has yet to see all events that it must remember.
    var isWarmingUp: Bool { warmup != nil }

    /// The oldest event that was read but not routed.
    var unrouted: EventRecord? { next < inbound.events.count ? inbound.events[next] : nil }

    /// Whether a pass that ends with the log can take a batch: a full one or, once everything is read, what there is.
    var hasBatch: Bool { builder.isSealed || (isExhausted && !builder.isEmpty) }

    /// Everything is read, and every batch was taken.
    var isUsedUp: Bool { isExhausted && builder.isEmpty }

    /// What is settled of the events that were read.
    /// - Parameters:
    ///   - position: everything below is settled.
    ///   - unsettled: ranges from `position` on that hold events which are not settled, in any order. Those in the
    ///     builder are added.
    func settled(below position: UInt64, except unsettled: [Range<UInt64>]) -> SettledPositions {
        SettledPositions(
            routedTo: self.position, unsettled: unsettled + (builder.first.map { [$0.position..<self.position] } ?? []),
            known: [0..<position] + settledBefore)
    }

    /// The end of the log from which on a turn has something to do; 0: any event counts, or work is left.
    ///
    /// While a batch is collected, its next events are read together: as many as seem to make it full, but only about
    /// `mostUnread` bytes, so that they are still in the journal's memory.
    var dueEnd: UInt64 {
        guard !builder.isSealed else { return .max }
        guard warmup == nil, isExhausted, next == inbound.events.count, !router.mayTakeLong,
            let missing = builder.positionsUntilFull(at: position)
        else { return 0 }
        return position.saturatingAdd(UInt64(max(1, min(missing, Self.mostUnread / eventSize))))
    }

    /// Routes events until a batch is full, the events of one read are used up, or the turn is over. Reads first if no
    /// event is left to route.
    /// - Returns: whether there was work to do.
    /// - Throws: when the journal can't be read; no event is skipped.
    mutating func advance(
        _ now: Instant, _ bound: TurnBound, refused: (DeadLetter) -> Void, wallClock: () -> Int64
    ) throws -> Bool {
        guard !builder.isSealed, !bound.isInterrupted else { return false }
        if warmup != nil {
            var bound: TurnBound? = bound
            if try warmup?.advance(maximumBytes: Self.readSize, &bound) == true { return true }
            warmup = nil
        }
        // Asked once: what is routed now was read as the tap needs it.
        let isWatched = tap?.watchesRouting == true
        if isWatched { readAgainForTap() }
        if next == inbound.events.count, try !read(isWatched) { return false }
        route(now, bound, isWatched, refused: refused, wallClock: wallClock)
        guard next == inbound.events.count else {
            isExhausted = false
            return true
        }
        isExhausted = log.end <= position
        noteEventSize()
        // A batch may be borrowed: nothing is kept for longer than it is needed.
        inbound.removeAll()
        next = 0
        return true
    }

    /// Copies what is not routed yet out of the journal's memory. For a pause, which may be long.
    mutating func keepUnrouted() { inbound.keep() }

    /// Frees the buffers of a busy period if the worker is idle.
    mutating func releaseMemory() {
        guard isExhausted, next == inbound.events.count, builder.isEmpty else { return }
        inbound = EventBatch()
        next = 0
        builder.releaseMemory()
    }

    /// Passes on the counts of filtered events and resets them.
    mutating func takeFiltered(_ take: (String, UInt64) -> Void) {
        guard !filtered.isEmpty else { return }
        for (reason, count) in filtered { take(reason, count) }
        filtered.removeAll(keepingCapacity: true)
        lastReason = 0
    }

    /// A tap that began after the read sees the events that the reader left out, too.
    private mutating func readAgainForTap() {
        guard leftOutReason != nil, next < inbound.events.count else { return }
        inbound.removeAll()
        next = 0
        reader = nil
    }

    private mutating func noteEventSize() {
        guard let first = inbound.events.first, let last = inbound.events.last else { return }
        // Between them are the events that the reader has left out.
        let count = Int(clamping: last.position &- first.position &+ 1)
        eventSize = max(1, (last.range.upperBound - first.range.lowerBound) / max(1, count))
    }

    private mutating func read(_ isWatched: Bool) throws -> Bool {
        isExhausted = log.end <= position
        guard !isExhausted else { return false }
        let reader = try self.reader ?? log.makeReader(from: position)
        self.reader = reader
        inbound.removeAll()
        inbound.next = position
        next = 0
        var isComplete = false
        // A read that failed halfway is repeated from its beginning.
        defer { if !isComplete { inbound.removeAll() } }
        // Who taps the routing sees every event, and events that were settled before are not counted again.
        let isWhole = isWatched || nextSettled < settledBefore.count
        let selection = isWhole ? nil : router.selection
        leftOutReason = selection?.reason
        guard try reader.borrow(into: &inbound, maximumBytes: Self.readSize, selecting: selection) else {
            isExhausted = true
            // Damage after the last event may have been passed over.
            position = max(position, inbound.next)
            return false
        }
        isComplete = true
        if inbound.events.isEmpty { position = max(position, inbound.next) }
        return true
    }

    private mutating func route(
        _ now: Instant, _ bound: TurnBound, _ isWatched: Bool, refused: (DeadLetter) -> Void, wallClock: () -> Int64
    ) {
        let count = inbound.events.count
        let mayTakeLong = router.mayTakeLong
        var bound = bound
        var refusals = 0
        // While nobody watches, this is the only cost of the tap.
        var watched = isWatched ? RoutedRun() : nil
        defer { if let watched, !watched.decisions.isEmpty { tap?.take(watched, of: inbound) } }
        if watched != nil { inbound.keep() }
        while next < count, !builder.isSealed, refusals < Self.refusedLimit {
            let event = inbound.events[next]
            if isSettled(event.position) {
                next += 1
                position = event.position &+ 1
                router.recall(event, of: inbound)
                continue
            }
            let first = builder.batch.events.count
            let verdict = router.route(event, of: inbound, into: &builder.batch)
            if mayTakeLong, bound.isInterrupted {
                // An interrupted script decides nothing: its event stays unsettled in the journal.
                builder.discard()
                return
            }
            if watched != nil { watched?.add(next, verdict, builder.batch, from: first) }
            countLeftOut(event.leftOutBefore)
            next += 1
            position = event.position &+ 1
            switch verdict {
            case .routed:
                builder.count(now)
            case .filtered(let reason):
                builder.discard()
                countFiltered(reason, 1)
            case .rejected(let reason):
                builder.discard()
                refusals += 1
                refused(letter(for: event, reason: reason, at: wallClock()))
            }
            if bound.isOver(mayTakeLong: mayTakeLong) { break }
        }
        if next == count {
            countLeftOut(exchange(&inbound.leftOutAtEnd, with: 0))
            position = max(position, inbound.next)
        }
    }

    @inline(__always)
    private mutating func isSettled(_ position: UInt64) -> Bool {
        while nextSettled < settledBefore.count, settledBefore[nextSettled].upperBound <= position { nextSettled += 1 }
        return nextSettled < settledBefore.count && settledBefore[nextSettled].lowerBound <= position
    }

    @inline(__always)
    private mutating func countLeftOut(_ count: UInt32) {
        if count > 0, let leftOutReason { countFiltered(leftOutReason, UInt64(count)) }
    }

    @inline(__always)
    private mutating func countFiltered(_ reason: String, _ count: UInt64) {
        // Reasons come in runs, so most calls end at the first comparison.
        if lastReason < filtered.count, filtered[lastReason].reason == reason {
            filtered[lastReason].count += count
        } else if let index = filtered.firstIndex(where: { $0.reason == reason }) {
            filtered[index].count += count
            lastReason = index
        } else {
            filtered.append((reason, count))
            lastReason = filtered.count - 1
        }
    }

    private func letter(for event: EventRecord, reason: String, at time: Int64) -> DeadLetter {
        let origin = Int(event.origin)
        return DeadLetter(
            position: event.position, receivedAt: event.receivedAt, firstReceivedAt: event.firstReceivedAt,
            event: inbound.text(of: event), index: event.index,
            origin: inbound.origins.indices.contains(origin) ? inbound.origins[origin] : nil,
            reason: reason, answer: "", attempts: 0, refusedAt: time)
    }
}
