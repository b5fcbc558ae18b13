import Events
import Platform

/// The batches that are in flight or wait for a retry, in journal order. Pure: it decides what an outcome means, and
/// the worker performs it.
///
/// - A batch leaves when each of its events is delivered or rejected.
/// - A retry contains only the unsettled events of its batch.
/// - A batch that was refused as too large is offered in pieces: each refusal halves the piece, down to the single
///   event at fault, and each success doubles it.
/// - In a batch that was refused because of an unknown event, the event is looked for by halving. The event at fault
///   among n takes at most 3 + log2(n) offers, with that of the rest.
struct InFlightWindow {
    /// An event that will not be offered again.
    struct Refused: Sendable {
        var event: OutboundEvent
        var payload: [UInt8]
        var reason: String
        var answer: String
    }

    /// When an event that keeps being answered with "retry" is given up.
    struct RetryBound {
        var giveUpAfter: Duration?
        /// The number of requests with this event that may be answered with "retry". The event is given up after
        /// exactly that many, even if each request was another batch or piece.
        var attempts: Int?

        /// Whether a batch that was refused as a whole is halved before its retry. It is halved when the remaining
        /// attempts are just enough to find a single event at fault, so that fewer sound events are given up with it. A
        /// success doubles the piece, so finding the event takes up to two attempts per halving.
        func halves(_ offered: Int, after refusals: UInt32) -> Bool {
            guard let attempts, offered > 1 else { return false }
            let halvings = Int.bitWidth - offered.leadingZeroBitCount
            return attempts - Int(refusals) <= 2 * halvings
        }
    }

    /// The effect of an outcome.
    struct Result: Sendable {
        /// The breaker's round when the batch was offered.
        var round: UInt64
        var delivered = 0
        /// The highest position delivered.
        var deliveredPosition: UInt64 = 0
        var refused: [Refused] = []
        /// Why events must be offered again, and the shortest wait before that.
        var retryReason: String?
        var retryAfter: Duration?
        /// Why the destination must be held.
        var holdReason: String?
        /// With `order: user`: the users whose events are settled, one entry per event;
        var settledUsers: [UInt64] = []
        /// and the events that left the window to wait for their user's retry while other users' events continue.
        var parked = OutboundBatch()
        var parkedAfter: [Duration?] = []
        var parkedReason: String?
        /// The service's answer for the first of these reasons.
        var answer: String?
    }

    fileprivate struct Entry {
        var id: UInt64
        var batch: OutboundBatch
        /// Indexes of the unsettled events; nil: all events.
        var remaining: [Int]?
        /// The largest piece, in events.
        var limit = Int.max
        /// One of so many events, counted from the front, is at fault. 0: no event is looked for.
        var suspects = 0
        /// How many events at fault were found in this way.
        var found = 0
        /// The largest piece that was accepted while one was looked for.
        var accepted = 0
        /// No event was at fault: the service refuses the batch because of its size, whatever its answer says.
        var isSizeRefused = false
        /// How many events from the front are on offer; 0: the batch waits.
        var offered = 0
        var round: UInt64 = 0
        var failingSince: Instant?

        var unsettled: Int { remaining?.count ?? batch.events.count }
        /// How many events are offered next.
        var piece: Int { min(unsettled, limit, suspects == 0 ? .max : max(1, suspects / 2)) }
        var first: OutboundEvent { batch.events[remaining?.first ?? 0] }
    }

    private var entries: [Entry] = []
    private var nextID: UInt64 = 0
    /// The number of batches on offer.
    private(set) var offered = 0

    init() {}

    /// An empty window that ignores outcomes of offers made through `other`.
    init(after other: InFlightWindow) { nextID = other.nextID }

    var count: Int { entries.count }
    var hasWaiting: Bool { offered < entries.count }

    /// The oldest unsettled event.
    var first: OutboundEvent? {
        // With `order: user`, entries may not be in journal order.
        entries.lazy.map(\.first).min { $0.position < $1.position }
    }

    /// For each batch, the positions from its first to its last unsettled event.
    var unsettled: [Range<UInt64>] {
        entries.map { entry in
            let events = entry.batch.events
            let (first, last) = (entry.remaining?.first ?? 0, entry.remaining?.last ?? events.count - 1)
            return events[first].position..<events[last].position &+ 1
        }
    }

    /// How often each unsettled event was answered with "retry", by position. Events that never were are left out.
    var refusals: [UInt64: UInt32] {
        var refusals: [UInt64: UInt32] = [:]
        for entry in entries {
            for index in entry.remaining ?? Array(entry.batch.events.indices)
            where entry.batch.events[index].refusals > 0 {
                refusals[entry.batch.events[index].position] = max(
                    entry.batch.events[index].refusals, refusals[entry.batch.events[index].position] ?? 0)
            }
        }
        return refusals
    }

    /// Adds a batch, which then waits to be offered. An empty batch is ignored.
    mutating func add(_ batch: consuming OutboundBatch) {
        guard !batch.events.isEmpty else { return }
        entries.append(Entry(id: nextID, batch: batch))
        nextID += 1
    }

    /// The number of events that `offerFirst` would take; 0: no batch waits.
    var nextCount: Int { entries.first { $0.offered == 0 }?.piece ?? 0 }

    /// The highest position in the batch that `offerFirst` would take from; 0: no batch waits.
    var nextPosition: UInt64 { entries.first { $0.offered == 0 }?.batch.events.last?.position ?? 0 }

    /// Takes the first waiting batch, or its next piece.
    mutating func offerFirst(round: UInt64) -> (id: UInt64, batch: OutboundBatch, isRetry: Bool)? {
        guard let index = entries.firstIndex(where: { $0.offered == 0 }) else { return nil }
        let count = entries[index].piece
        entries[index].offered = count
        entries[index].round = round
        offered += 1
        let entry = entries[index]
        guard let remaining = entry.remaining ?? (count < entry.unsettled ? Array(0..<entry.unsettled) : nil) else {
            return (entry.id, entry.batch, entry.batch.events[0].attempt > 0)
        }
        var piece = OutboundBatch()
        for index in remaining.prefix(count) { piece.append(entry.batch.events[index], from: entry.batch) }
        return (entry.id, piece, piece.events.contains { $0.attempt > 0 })
    }

    /// Applies an outcome.
    /// - Parameters:
    ///   - failingSince: with `order: user`, returns since when a user's events have been refused. Events to retry then
    ///     leave the window, if the settlement has an outcome per event.
    ///   - bound: when events that were answered with "retry" are given up.
    ///   - delivered: gets the receive time and the number of delivered events, for each run of one receive time.
    ///   - reuse: receives the buffers of a finished batch. They are passed in place, because a second reference would
    ///     make the next write copy them.
    /// - Returns: nil if the offer does not exist or is already settled.
    mutating func settle(
        _ id: UInt64, _ settlement: DeliveryClaim.Settlement, now: Instant, failingSince: ((UInt64) -> Instant?)? = nil,
        bound: RetryBound = RetryBound(), delivered: (Int64, Int) -> Void = { _, _ in },
        reuse: (inout OutboundBatch) -> Void
    ) -> Result? {
        guard let index = entries.firstIndex(where: { $0.id == id }), entries[index].offered > 0 else { return nil }
        offered -= 1
        var result = Result(round: entries[index].round)
        if case .all(.delivered) = settlement, entries[index].offered == entries[index].unsettled {
            var entry = entries.remove(at: index)
            result.delivered = entry.offered
            entry.passReceiveTimes(to: delivered)
            if failingSince != nil {
                result.settledUsers = (entry.remaining ?? Array(entry.batch.events.indices)).map {
                    entry.batch.events[$0].user
                }
            }
            result.deliveredPosition =
                entry.batch.events[entry.remaining?.last ?? entry.batch.events.count - 1].position
            reuse(&entry.batch)
            return result
        }
        // An answer to the whole batch says nothing about any one user's events.
        var parks = false
        if case .each = settlement { parks = failingSince != nil }
        entries[index].settle(
            settlement, now: now, bound: bound, parks: parks, failingSince: failingSince, delivered: delivered,
            into: &result)
        if entries[index].unsettled == 0 {
            var entry = entries.remove(at: index)
            reuse(&entry.batch)
        }
        return result
    }
}

extension InFlightWindow.Entry {
    fileprivate mutating func settle(
        _ settlement: DeliveryClaim.Settlement, now: Instant, bound: InFlightWindow.RetryBound,
        parks: Bool, failingSince userSince: ((UInt64) -> Instant?)?, delivered: (Int64, Int) -> Void,
        into result: inout InFlightWindow.Result
    ) {
        var runs = ReceiveRuns()
        defer { runs.finish(delivered) }
        let indexes = remaining ?? Array(batch.events.indices)
        var again: [Int] = []
        var isTooLarge = false
        var suspected = 0
        var isCulprit = false
        // A single event may be at fault for the whole batch.
        var isWhole = false
        if case .all = settlement { isWhole = true }
        let since = failingSince ?? now

        for (n, index) in indexes.prefix(offered).enumerated() {
            var outcome = Outcome.retry(reason: "the destination reported no outcome for the event")
            switch settlement {
            case .all(let one): outcome = one
            case .each(let each): if n < each.count { outcome = each[n] }
            }
            switch outcome {
            case .delivered:
                if userSince != nil { result.settledUsers.append(batch.events[index].user) }
                result.delivered += 1
                runs.add(batch.events[index].firstReceivedAt, delivered)
                result.deliveredPosition = max(result.deliveredPosition, batch.events[index].position)
            case .rejected(let reason, let answer):
                refuse(index, reason, answer, &result)
            case .tooLarge(let reason, let answer), .someRejected(let reason, let answer):
                let concernsSize = if case .tooLarge = outcome { true } else { isSizeRefused }
                if offered == 1 {
                    isCulprit = !concernsSize
                    refuse(index, reason, answer, &result)
                } else {
                    if concernsSize { isTooLarge = true } else { suspected += 1 }
                    batch.events[index].attempt &+= 1
                    again.append(index)
                }
            case .retry(let reason, let after, let answer):
                batch.events[index].refusals &+= 1
                let since = parks ? userSince?(batch.events[index].user) ?? since : since
                if let giveUpAfter = bound.giveUpAfter, now - since >= giveUpAfter {
                    refuse(index, "given up after \(Readable.duration(giveUpAfter)): \(reason)", answer, &result)
                } else if let attempts = bound.attempts, batch.events[index].refusals >= attempts {
                    let count = batch.events[index].refusals
                    refuse(index, "given up after \(count) attempt\(count == 1 ? "" : "s"): \(reason)", answer, &result)
                } else if parks {
                    batch.events[index].attempt &+= 1
                    result.parked.append(batch.events[index], from: batch)
                    result.parkedAfter.append(after)
                    result.answer = result.answer ?? answer
                    result.parkedReason = result.parkedReason ?? reason
                    continue
                } else {
                    isTooLarge = isTooLarge || isWhole && bound.halves(offered, after: batch.events[index].refusals)
                    batch.events[index].attempt &+= 1
                    again.append(index)
                }
                result.retryReason = result.retryReason ?? reason
                result.answer = result.answer ?? answer
                if let after { result.retryAfter = max(after, result.retryAfter ?? .zero) }
            case .hold(let reason, let answer):
                batch.events[index].attempt &+= 1
                again.append(index)
                result.holdReason = result.holdReason ?? reason
                result.answer = result.answer ?? answer
            }
        }

        let isDecided = look(
            for: suspected, of: again.count, isCulprit, isKnown: !result.refused.isEmpty, delivered: result.delivered)
        if isTooLarge {
            limit = max(1, offered / 2)
        } else if !isDecided, result.retryReason == nil && result.holdReason == nil {
            limit = limit > .max / 2 ? .max : limit * 2
        }
        // Time on hold is not the events' fault and doesn't count.
        let isFailing = result.retryReason != nil && result.holdReason == nil && result.delivered == 0
        failingSince = isFailing ? since : nil
        remaining = again + indexes.dropFirst(offered)
        offered = 0
        if !result.parked.events.isEmpty { parkOthers(of: Set(result.parked.events.map(\.user)), into: &result) }
    }

    /// Decides among which events the one at fault is.
    /// - Parameters:
    ///   - suspected: how many of the events that were just offered are refused because of an unknown one.
    ///   - left: how many of them must be offered again.
    ///   - isCulprit: the one at fault was offered alone.
    ///   - isKnown: some of the events are refused themselves.
    ///   - delivered: how many events were delivered.
    /// - Returns: whether this decides about the size of the next piece.
    private mutating func look(
        for suspected: Int, of left: Int, _ isCulprit: Bool, isKnown: Bool, delivered: Int
    ) -> Bool {
        if suspected > 0 {
            if suspects == 0 { accepted = 0 }
            // Without the events that the answer names, the service may accept the others.
            suspects = isKnown || suspected < left ? 0 : suspected
            // Beside events that are to be retried for other reasons, halves are good enough.
            if !isKnown, suspects == 0 { limit = max(1, offered / 2) }
            return true
        }
        if isCulprit || isKnown && suspects > 0 {
            if suspects > 0 { found += 1 }
            suspects = 0
            // One event at fault is an accident. If there are more, most of the next pieces would be refused, too.
            if found > 1 { limit = 1 }
            return true
        }
        guard suspects > 0 else { return false }
        accepted = max(accepted, delivered)
        suspects = max(0, suspects - (offered - left))
        guard suspects == 0 else { return false }
        isSizeRefused = true
        limit = max(1, accepted)
        return true
    }

    /// Passes on the receive times of all unsettled events.
    fileprivate func passReceiveTimes(to delivered: (Int64, Int) -> Void) {
        var runs = ReceiveRuns()
        if let remaining {
            for index in remaining { runs.add(batch.events[index].firstReceivedAt, delivered) }
        } else {
            for index in batch.events.indices { runs.add(batch.events[index].firstReceivedAt, delivered) }
        }
        runs.finish(delivered)
    }

    /// A user whose event waits gets nothing newer first, so that user's remaining events in the batch wait, too.
    private mutating func parkOthers(of users: Set<UInt64>, into result: inout InFlightWindow.Result) {
        let left = remaining ?? []
        remaining = left.filter { !users.contains(batch.events[$0].user) }
        for index in left where users.contains(batch.events[index].user) {
            result.parked.append(batch.events[index], from: batch)
            result.parkedAfter.append(nil)
        }
    }

    private func refuse(_ index: Int, _ reason: String, _ answer: String, _ result: inout InFlightWindow.Result) {
        let event = batch.events[index]
        result.settledUsers.append(event.user)
        result.refused.append(
            .init(event: event, payload: Array(batch.payload[event.payload]), reason: reason, answer: answer))
    }
}
