import Events
import Platform

/// Reads the journal, routes each event and collects what is to be delivered. No allocation for
/// each event: the inbound batch and the outbound buffers are used again for ever.
struct Intake {
    /// Bytes read from the journal at once: few enough to stay in the processor's cache while they
    /// are routed, many enough that a read's cost does not show.
    private static let readSize = 256 << 10
    /// Events that the router refused for good, before their letters have to be stored.
    private static let refusedLimit = 256

    private let log: any EventLog
    private let router: any EventRouter
    private var recollection: Recollection?
    private var reader: (any EventReader)?
    private var inbound = EventBatch()
    private var next = 0

    var builder: BatchBuilder
    /// Everything below has been routed.
    private(set) var position: UInt64
    /// Ascending ranges that an earlier life has settled above the cursor: their events are not routed again.
    let settledBefore: [Range<UInt64>]
    /// The first of them that does not lie below `position`.
    private var nextSettled = 0
    /// There was nothing more to read.
    private(set) var isExhausted = false
    /// Filtered events since the last `takeFiltered`, by reason; a handful of reasons.
    private var filtered: [(reason: String, count: UInt64)] = []
    private var lastReason = 0

    /// - Parameters:
    ///   - recollection: what the router is shown first.
    ///   - settled: ranges above `position` whose events are settled already.
    init(
        log: any EventLog, router: any EventRouter, position: UInt64, _ recollection: Recollection?, builder: BatchBuilder,
        settled: [Range<UInt64>] = []
    ) {
        settledBefore = settled
        self.log = log
        self.router = router
        self.position = position
        self.recollection = recollection
        self.builder = builder
    }

    /// The router was not shown yet all that it has to remember.
    var isRecollecting: Bool { recollection != nil }

    /// The oldest event that was read but not routed.
    var unrouted: EventRecord? { next < inbound.events.count ? inbound.events[next] : nil }

    /// Routes until a batch is full, one read's events are used up or the turn is over; reads first if there are
    /// none.
    /// - Returns: whether there was anything to do.
    /// - Throws: when the journal cannot be read; nothing is skipped.
    mutating func advance(
        _ now: Instant, _ bound: TurnBound, refused: (DeadLetter) -> Void, wallClock: () -> Int64
    ) throws -> Bool {
        guard builder.sealed == nil, !bound.isInterrupted else { return false }
        var recalling: TurnBound? = bound
        if try recollection?.advance(maximumBytes: Self.readSize, &recalling) == true { return true }
        recollection = nil
        if next == inbound.events.count, try !read() { return false }
        route(now, bound, refused: refused, wallClock: wallClock)
        isExhausted = next == inbound.events.count && log.end <= position
        return true
    }

    /// Gives back the memory of a busy time, if that is over.
    mutating func releaseMemory() {
        guard isExhausted, next == inbound.events.count, builder.isEmpty else { return }
        inbound = EventBatch()
        next = 0
        builder.releaseMemory()
    }

    /// Hands over the counts of filtered events.
    mutating func takeFiltered(_ take: (String, UInt64) -> Void) {
        guard !filtered.isEmpty else { return }
        for (reason, count) in filtered { take(reason, count) }
        filtered.removeAll(keepingCapacity: true)
        lastReason = 0
    }

    private mutating func read() throws -> Bool {
        isExhausted = log.end <= position
        guard !isExhausted else { return false }
        let reader = try self.reader ?? log.makeReader(from: position)
        self.reader = reader
        inbound.removeAll()
        inbound.next = position
        next = 0
        var isComplete = false
        // A read that failed in the middle comes again from its beginning.
        defer { if !isComplete { inbound.removeAll() } }
        guard try reader.read(into: &inbound, maximumBytes: Self.readSize) else {
            isExhausted = true
            // Behind the last event there may have been damage.
            position = max(position, inbound.next)
            return false
        }
        isComplete = true
        if inbound.events.isEmpty { position = max(position, inbound.next) }
        return true
    }

    private mutating func route(
        _ now: Instant, _ bound: TurnBound, refused: (DeadLetter) -> Void, wallClock: () -> Int64
    ) {
        let count = inbound.events.count
        let mayTakeLong = router.mayTakeLong
        var bound = bound
        var refusals = 0
        while next < count, builder.sealed == nil, refusals < Self.refusedLimit {
            let event = inbound.events[next]
            if isSettled(event.position) {
                next += 1
                position = event.position &+ 1
                router.recall(event, of: inbound)
                continue
            }
            let verdict = router.route(event, of: inbound, into: &builder.batch)
            if mayTakeLong, bound.isInterrupted {
                // A script that is interrupted says nothing about its event, which stays in the journal unsettled.
                builder.discard()
                return
            }
            next += 1
            position = event.position &+ 1
            switch verdict {
            case .routed:
                builder.count(now)
            case .filtered(let reason):
                builder.discard()
                countFiltered(reason)
            case .rejected(let reason):
                builder.discard()
                refusals += 1
                refused(letter(for: event, reason: reason, at: wallClock()))
            }
            if bound.isOver(mayTakeLong: mayTakeLong) { break }
        }
        if next == count { position = max(position, inbound.next) }
    }

    @inline(__always)
    private mutating func isSettled(_ position: UInt64) -> Bool {
        while nextSettled < settledBefore.count, settledBefore[nextSettled].upperBound <= position { nextSettled += 1 }
        return nextSettled < settledBefore.count && settledBefore[nextSettled].lowerBound <= position
    }

    @inline(__always)
    private mutating func countFiltered(_ reason: String) {
        // Runs of one reason are what there is: most calls end at the first comparison.
        if lastReason < filtered.count, filtered[lastReason].reason == reason {
            filtered[lastReason].count += 1
        } else if let index = filtered.firstIndex(where: { $0.reason == reason }) {
            filtered[index].count += 1
            lastReason = index
        } else {
            filtered.append((reason, 1))
            lastReason = filtered.count - 1
        }
    }

    private func letter(for event: EventRecord, reason: String, at time: Int64) -> DeadLetter {
        let origin = Int(event.origin)
        return DeadLetter(
            position: event.position, receivedAt: event.receivedAt, event: Array(inbound.bytes[event.range]),
            index: event.index, origin: inbound.origins.indices.contains(origin) ? inbound.origins[origin] : nil,
            reason: reason, answer: "", attempts: 0, refusedAt: time)
    }
}
