import Events
import Platform

/// Collects routed events into batches within bounds. It holds at most one full batch, which waits for room in the
/// window, and the batch that is being filled; beyond that the caller stops reading. Returned buffers are reused.
struct BatchBuilder {
    private let maximumEvents: Int
    private let maximumBytes: Int
    private let maximumSpare: Int

    /// The batch that is being filled. The router appends to it; then `count` or `discard` must be called.
    var batch = OutboundBatch()
    private(set) var sealed: OutboundBatch?
    /// When the first event of `batch` was added.
    private var openedAt = Instant(nanoseconds: 0)
    private var events = 0
    private var bytes = 0
    private var spare: [OutboundBatch] = []

    init(maximumEvents: Int, maximumBytes: Int, spare: Int) {
        self.maximumEvents = max(1, maximumEvents)
        self.maximumBytes = max(1, maximumBytes)
        maximumSpare = spare
    }

    /// A builder for live events. With every batch in flight settled, their buffers are spare, and the one of the full
    /// batch that waited.
    init(_ policy: DeliveryPolicy, _ limits: DestinationLimits) {
        let paced = policy.rateLimit?.maximumBatch(eventsPerRequest: limits.eventsPerRequest) ?? .max
        self.init(
            maximumEvents: min(policy.batchEvents, limits.maximumBatchEvents, paced),
            maximumBytes: min(policy.batchBytes, limits.maximumBatchBytes), spare: min(policy.inFlight, 64) + 1)
    }

    var isEmpty: Bool { sealed == nil && events == 0 }
    /// A full batch waits to be taken.
    var isSealed: Bool { sealed != nil }
    /// When the first event of a batch that is not full yet was added; nil: there is none, or a full one waits.
    var collectingSince: Instant? { sealed == nil && events > 0 ? openedAt : nil }
    /// The oldest event that the builder holds.
    var first: OutboundEvent? { sealed?.events.first ?? batch.events.first }

    /// An estimate of how many more positions make the batch full: its next events are taken to be as large as those
    /// that it has, and a position to have as many (at least one). Nil: it has no event.
    /// - Parameter position: everything below is routed.
    func positionsUntilFull(at position: UInt64) -> Int? {
        guard events > 0, let first = batch.events.first else { return nil }
        let missing = min(maximumEvents - events, (maximumBytes - bytes) / max(1, bytes / events))
        let positions = Int(clamping: position.saturatingSubtract(first.position))
        return positions < events ? missing.saturatingMultiply(positions) / events : missing
    }

    /// Counts the events that were just appended to `batch`. They share one position and stay together. If they make
    /// the batch larger than its bounds, they become the beginning of the next batch.
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

    /// Removes appended events that must not be sent.
    @inline(__always)
    mutating func discard() {
        if batch.payload.count > bytes { batch.payload.removeLast(batch.payload.count - bytes) }
        if batch.events.count > events { batch.events.removeLast(batch.events.count - events) }
    }

    /// Takes the batch to send now: the full one, or, with `partial`, the events collected so far.
    mutating func take(partial: Bool) -> OutboundBatch? {
        if sealed == nil, events > 0, partial { seal() }
        guard let ready = sealed.take() else { return nil }
        if isFull { seal() }
        return ready
    }

    /// Returns the buffers of a settled batch.
    mutating func recycle(_ finished: inout OutboundBatch) {
        guard spare.count < maximumSpare else { return }
        finished.removeAll()
        spare.append(finished)
    }

    /// Frees all buffers if no event is held.
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
