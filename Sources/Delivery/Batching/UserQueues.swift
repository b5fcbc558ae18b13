import Platform

/// A queue per user for `order: user`, which keeps each user's events in order while other users' events pass. A user's
/// newer events wait here while events of the user are in flight, wait for a retry, or exceed the rate limit. Pure.
///
/// - At most one batch in flight holds events of a user. However the service treats batches that arrive together, it
///   sees each user's events in journal order.
/// - The queues are bounded (`room`). When they are full, nothing more is read until a waiting event can be sent.
/// - A queue exists while it holds events, has events in flight, or its user's bucket is not full.
struct UserQueues {
    private struct Queue {
        /// Events in batches that the window holds, all from one admission.
        var underWay = 0
        var admission: UInt64 = 0
        var waiting = OutboundBatch()
        /// nil: as soon as no event of the user is in flight.
        var notBefore: Instant?
        var backoff: Backoff
        var failingSince: Instant?
        var bucket: TokenBucket?
    }

    struct Outlook {
        /// The oldest waiting event.
        var first: OutboundEvent?
        /// When the next waiting event may be sent; nil: not before a batch in flight is settled.
        var due: Instant?
        /// Some events wait because the service answered "retry".
        var isFailing = false
    }

    /// The bound on waiting events, in full batches; it holds for the number of events and for their bytes.
    private static let room = 16
    /// The bound on the number of queues.
    private static let maximumQueues = 100_000

    private let policy: DeliveryPolicy
    private var queues: [UInt64: Queue] = [:]
    private var admission: UInt64 = 0
    private var waitingEvents = 0
    private var waitingBytes = 0
    private var sweepAt = 1_000
    private var known: Outlook?

    init(_ policy: DeliveryPolicy) { self.policy = policy }

    /// No event waits.
    var isEmpty: Bool { waitingEvents == 0 }

    /// Whether another batch may be admitted.
    mutating func hasRoom(_ now: Instant) -> Bool {
        if queues.count >= sweepAt { sweep(now) }
        let (events, events16) = policy.batchEvents.multipliedReportingOverflow(by: Self.room)
        let (bytes, bytes16) = policy.batchBytes.multipliedReportingOverflow(by: Self.room)
        return waitingEvents < (events16 ? .max : events) && waitingBytes < (bytes16 ? .max : bytes)
            && queues.count < Self.maximumQueues
    }

    /// A summary of the waiting events.
    mutating func outlook(_ now: Instant) -> Outlook {
        if let known { return known }
        var outlook = Outlook()
        for queue in queues.values {
            guard let event = queue.waiting.events.first else { continue }
            if queue.failingSince != nil { outlook.isFailing = true }
            if outlook.first.map({ event.position < $0.position }) ?? true { outlook.first = event }
            guard queue.underWay == 0 else { continue }
            let due = queue.notBefore ?? now
            outlook.due = min(outlook.due ?? due, due)
        }
        // Look again soon: buckets fill up, and idle users are then evicted.
        if queues.count >= Self.maximumQueues {
            outlook.due = min(outlook.due ?? .init(nanoseconds: .max), now + .milliseconds(100))
        }
        known = outlook
        return outlook
    }

    /// Admits a batch in journal order.
    /// - Returns: the events that may be sent now. The others wait.
    mutating func admit(_ batch: borrowing OutboundBatch, _ now: Instant) -> OutboundBatch {
        admission += 1
        known = nil
        var ready = OutboundBatch()
        for event in batch.events {
            var queue = queue(of: event.user, now)
            let isFree = queue.waiting.events.isEmpty && (queue.underWay == 0 || queue.admission == admission)
            if isFree, pass(&queue, now) {
                ready.append(event, from: batch)
            } else {
                queue.waiting.append(event, from: batch)
                waitingEvents += 1
                waitingBytes += event.payload.count
            }
            queues[event.user] = queue
        }
        return ready
    }

    /// Takes the events that are due as one batch, oldest first.
    mutating func takeDue(_ now: Instant, maximumEvents: Int, maximumBytes: Int) -> OutboundBatch? {
        guard let due = outlook(now).due, due <= now else { return nil }
        admission += 1
        known = nil
        var taken: [(event: OutboundEvent, user: UInt64)] = []
        var sources: [UInt64: OutboundBatch] = [:]
        var bytes = 0
        for user in dueUsers(now) {
            guard taken.count < maximumEvents, bytes < maximumBytes, var queue = queues[user] else { continue }
            var count = 0
            while count < queue.waiting.events.count, taken.count < maximumEvents, bytes < maximumBytes,
                pass(&queue, now)
            {
                taken.append((queue.waiting.events[count], user))
                bytes += queue.waiting.events[count].payload.count
                waitingBytes -= queue.waiting.events[count].payload.count
                count += 1
            }
            if count > 0 {
                sources[user] = queue.waiting
                waitingEvents -= count
                queue.waiting = queue.waiting.dropping(count)
            }
            queues[user] = queue
        }
        guard !taken.isEmpty else { return nil }
        taken.sort { ($0.event.position, $0.event.part) < ($1.event.position, $1.event.part) }
        var batch = OutboundBatch()
        for (event, user) in taken { if let source = sources[user] { batch.append(event, from: source) } }
        return batch
    }

    /// Sorted by the position of each user's first waiting event. If a batch can't take all users, this order starves
    /// no user.
    private func dueUsers(_ now: Instant) -> [UInt64] {
        queues.compactMap { user, queue -> (position: UInt64, user: UInt64)? in
            guard queue.underWay == 0, let first = queue.waiting.events.first,
                queue.notBefore.map({ $0 <= now }) ?? true
            else { return nil }
            return (first.position, user)
        }.sorted { ($0.position, $0.user) < ($1.position, $1.user) }.map(\.user)
    }

    /// Counts an event of this user as delivered or rejected.
    mutating func settled(_ user: UInt64, _ now: Instant) {
        guard var queue = queues[user] else { return }
        known = nil
        queue.underWay = max(0, queue.underWay - 1)
        queue.backoff.reset()
        queue.failingSince = nil
        // The user's other events may have been waiting because of a failure.
        if queue.bucket == nil { queue.notBefore = nil }
        queues[user] = queue.underWay == 0 && queue.waiting.events.isEmpty && queue.bucket == nil ? nil : queue
    }

    /// Takes back events of one offer for a retry, while other users' events continue.
    /// - Parameter after: the wait that the service asked for, per event.
    mutating func park(
        _ events: OutboundBatch, after: [Duration?], _ now: Instant, using random: inout some RandomNumberGenerator
    ) {
        known = nil
        var returned: [UInt64: (batch: OutboundBatch, after: Duration?)] = [:]
        for (event, after) in zip(events.events, after) {
            var entry = returned[event.user] ?? (OutboundBatch(), nil)
            entry.batch.append(event, from: events)
            if let after { entry.after = max(after, entry.after ?? .zero) }
            returned[event.user] = entry
            waitingEvents += 1
            waitingBytes += event.payload.count
        }
        // Sorted, so that a simulation with the same random numbers gives the same waits.
        for (user, entry) in returned.sorted(by: { $0.key < $1.key }) {
            var queue = queue(of: user, now)
            queue.underWay = max(0, queue.underWay - entry.batch.events.count)
            queue.failingSince = queue.failingSince ?? now
            queue.notBefore = now + queue.backoff.fail(asked: entry.after, using: &random)
            queue.waiting = .merging(entry.batch, queue.waiting)
            queues[user] = queue
        }
    }

    /// Ends every user's wait for a retry. A rate limit still applies.
    mutating func resume() {
        known = nil
        for user in queues.keys { queues[user]?.notBefore = nil }
    }

    /// How often waiting events were answered with "retry", by position. Events that never were are left out.
    var refusals: [UInt64: UInt32] {
        queues.values.reduce(into: [:]) { refusals, queue in
            for event in queue.waiting.events where event.refusals > 0 {
                refusals[event.position] = max(event.refusals, refusals[event.position] ?? 0)
            }
        }
    }

    /// Since when a user's events have been refused; nil: they are not being refused.
    func failingSince(_ user: UInt64) -> Instant? { queues[user]?.failingSince }

    private func queue(of user: UInt64, _ now: Instant) -> Queue {
        queues[user]
            ?? Queue(
                backoff: Backoff(initial: policy.retryInitial, maximum: policy.retryMaximum),
                bucket: policy.rateLimit?.userBucket(now))
    }

    /// Takes the user's next event if it may be sent now, and counts it.
    /// - Returns: whether it may be sent.
    private func pass(_ queue: inout Queue, _ now: Instant) -> Bool {
        if let notBefore = queue.notBefore, notBefore > now { return false }
        queue.notBefore = nil
        if let wait = queue.bucket?.wait(for: 1, now), wait > .zero {
            queue.notBefore = now + wait
            return false
        }
        queue.bucket?.take(1, now)
        queue.underWay += 1
        queue.admission = admission
        return true
    }

    /// Evicts idle users whose bucket is full.
    private mutating func sweep(_ now: Instant) {
        queues = queues.filter { _, queue in
            var bucket = queue.bucket
            return queue.underWay > 0 || !queue.waiting.events.isEmpty || !(bucket?.isFull(now) ?? true)
        }
        sweepAt = min(Self.maximumQueues, max(1_000, queues.count * 2))
    }
}

extension OutboundBatch {
    /// The events of both batches in journal order.
    fileprivate static func merging(_ one: OutboundBatch, _ other: OutboundBatch) -> OutboundBatch {
        var merged = OutboundBatch()
        let sources = [one, other]
        let events = sources.indices.flatMap { source in sources[source].events.map { (event: $0, source: source) } }
        for (event, source) in events.sorted(by: {
            ($0.event.position, $0.event.part) < ($1.event.position, $1.event.part)
        }) {
            merged.append(event, from: sources[source])
        }
        return merged
    }

    /// The batch without its first `count` events.
    fileprivate func dropping(_ count: Int) -> OutboundBatch {
        var rest = OutboundBatch()
        for event in events.dropFirst(count) { rest.append(event, from: self) }
        return rest
    }
}
