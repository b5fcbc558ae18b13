import Events
import Platform

/// Collects routed events into batches within bounds. It holds at most one full batch that
/// waits for a place in the window, and the one being filled; beyond that the caller stops
/// reading. Buffers that come back are used again.
struct BatchBuilder {
    private let maximumEvents: Int
    private let maximumBytes: Int
    private let maximumSpare: Int

    /// Being filled. The router appends to it, then `count` or `discard` is called.
    var batch = OutboundBatch()
    private(set) var sealed: OutboundBatch?
    /// When the first event of `batch` was added.
    private(set) var openedAt = Instant(nanoseconds: 0)
    private var events = 0
    private var bytes = 0
    private var spare: [OutboundBatch] = []

    init(maximumEvents: Int, maximumBytes: Int, spare: Int) {
        self.maximumEvents = max(1, maximumEvents)
        self.maximumBytes = max(1, maximumBytes)
        maximumSpare = spare
    }

    /// Of live events.
    init(_ policy: DeliveryPolicy, _ limits: DestinationLimits) {
        let paced = policy.rateLimit?.maximumBatch(eventsPerRequest: limits.eventsPerRequest) ?? .max
        self.init(
            maximumEvents: min(policy.batchEvents, limits.maximumBatchEvents, paced),
            maximumBytes: min(policy.batchBytes, limits.maximumBatchBytes), spare: min(policy.inFlight, 64))
    }

    var isEmpty: Bool { sealed == nil && events == 0 }
    /// The oldest event in here.
    var first: OutboundEvent? { sealed?.events.first ?? batch.events.first }

    /// Counts what was just appended to `batch`: the events of one position, which stay together. What
    /// makes it larger than it may be becomes the beginning of the next one.
    @inline(__always)
    mutating func count(_ now: Instant) {
        if events == 0 { openedAt = now }
        if batch.payload.count > maximumBytes || batch.events.count > maximumEvents, events > 0, sealed == nil {
            overflow(now)
        } else {
            events = batch.events.count
            bytes = batch.payload.count
        }
        if isFull, sealed == nil { seal() }
    }

    /// Takes back what was appended but must not be sent.
    @inline(__always)
    mutating func discard() {
        if batch.payload.count > bytes { batch.payload.removeLast(batch.payload.count - bytes) }
        if batch.events.count > events { batch.events.removeLast(batch.events.count - events) }
    }

    /// The batch that is to go now: the full one, or, if `partial`, what there is.
    mutating func take(partial: Bool) -> OutboundBatch? {
        if sealed == nil, events > 0, partial { seal() }
        guard let ready = sealed.take() else { return nil }
        if isFull { seal() }
        return ready
    }

    /// Gives a batch back whose events are settled.
    mutating func recycle(_ finished: inout OutboundBatch) {
        guard spare.count < maximumSpare else { return }
        finished.removeAll()
        spare.append(finished)
    }

    /// Gives the memory back, where nothing is collected.
    mutating func releaseMemory() {
        guard isEmpty else { return }
        spare = []
        batch = OutboundBatch()
    }

    private var isFull: Bool { events >= maximumEvents || bytes >= maximumBytes }

    private mutating func seal() {
        sealed = batch
        batch = spare.popLast() ?? OutboundBatch()
        events = 0
        bytes = 0
    }

    private mutating func overflow(_ now: Instant) {
        var next = spare.popLast() ?? OutboundBatch()
        for event in batch.events[events...] { next.append(event, from: batch) }
        discard()
        sealed = batch
        batch = next
        openedAt = now
        events = batch.events.count
        bytes = batch.payload.count
    }
}
