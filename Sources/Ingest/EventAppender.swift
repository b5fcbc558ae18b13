import Events

/// Stores accepted events. This is all that Ingest needs from the journal. Any thread.
package protocol EventAppender: Sendable {
    /// Copies the events and queues them for the next group commit. Never blocks. Takes all of the events or none.
    ///
    /// - Parameters:
    ///   - bytes: the buffer that holds the events.
    ///   - events: valid events within `bytes`, in the order in which they were sent.
    ///   - origin: the sender.
    ///   - lane: the lane that the events come from, and the position behind them, which is stored in the same commit;
    ///     nil: the sender has no lanes. With a lane, there may be no events.
    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
    ) -> AppendOutcome

    /// The same for events without a lane.
    /// - Parameter witness: gets the end before the events can become durable; nil: nobody asks.
    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, witness: (any AppendWitness)?
    ) -> AppendOutcome

    /// The same journal, but the next commit may begin only when `submit` is called. For a thread that appends the
    /// events of many clients in a row: each commit costs several switches of threads, and events appended together
    /// share one.
    var gathering: any EventAppender { get }

    /// Lets the commit begin of what was appended to `gathering`.
    /// - Parameter mayWait: the calling thread has nothing else to do, and may make the commit itself where that is
    ///   quick.
    func submit(mayWait: Bool)

    /// How long a thread that a client has woken may wait for other clients before it calls `submit`, so that their
    /// events share a commit. It may change at any time.
    var commitDelay: Duration { get }

    /// The position after the last durable event. Never decreases.
    var durableEnd: UInt64 { get }

    /// Why it cannot take events now, for `/ready`; nil: it can.
    var obstacle: String? { get }
}

extension EventAppender {
    package func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, witness: (any AppendWitness)?
    ) -> AppendOutcome {
        let outcome = append(bytes, events: events, from: origin, lane: nil)
        if case .queued(let end) = outcome { witness?.willQueue(upTo: end) }
        return outcome
    }

    package var gathering: any EventAppender { self }
    package func submit(mayWait: Bool) {}
    package var commitDelay: Duration { .zero }
    package var obstacle: String? { nil }
}

package enum AppendOutcome: Sendable, Equatable {
    /// Queued. The events are durable once the journal's durable end has reached this position.
    case queued(end: UInt64)
    /// The queue is full (half of `journal.memory`). Read no more from this client, and offer the same events again
    /// when the journal reports room.
    case busy
    /// Rejected. Offering the events again now does not help.
    case refused(Refusal)
}
