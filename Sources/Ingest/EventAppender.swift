import Events

/// Where accepted events go: what Ingest needs of the journal, and nothing more. Any thread.
package protocol EventAppender: Sendable {
    /// Copies the events and queues them for the next group commit. Never blocks, never takes a
    /// part: all of them, or none.
    ///
    /// - Parameters:
    ///   - bytes: the buffer that the events lie in.
    ///   - events: valid events within `bytes`, in the order in which they were sent.
    ///   - origin: who sent them.
    func append(_ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin) -> AppendOutcome

    /// The position after the last durable event. Only grows.
    var durableEnd: UInt64 { get }
}

package enum AppendOutcome: Sendable, Equatable {
    /// Queued. They are durable once the journal's durable end has reached this position.
    case queued(end: UInt64)
    /// The queue holds as much as it may (`journal.queue`). Offer the same events again when the
    /// journal says that there is room; until then read no more from this client.
    case busy
    /// Not taken, and offering them again now is of no use.
    case refused(Refusal)
}
