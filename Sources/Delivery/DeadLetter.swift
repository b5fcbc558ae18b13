import Events

/// An event that a destination, or the way to it, refused for good.
package struct DeadLetter: Sendable, Equatable {
    package var position: UInt64
    /// Nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    /// The event as the client sent it, so that a retry goes through whatever is configured then.
    package var event: [UInt8]
    /// Of `event`.
    package var index: EventIndex
    /// Who sent it; nil: the journal has lost the event, and `event` is what was offered to the
    /// destination.
    package var origin: Origin?
    package var reason: String
    /// The service's answer, if it gave one.
    package var answer: String
    /// How often it was offered; 0: refused before it came that far.
    package var attempts: UInt32
    /// When it was refused for good; nanoseconds since 1970-01-01 UTC.
    package var refusedAt: Int64

    package init(
        position: UInt64, receivedAt: Int64, event: [UInt8], index: EventIndex, origin: Origin?, reason: String,
        answer: String, attempts: UInt32, refusedAt: Int64
    ) {
        self.position = position
        self.receivedAt = receivedAt
        self.event = event
        self.index = index
        self.origin = origin
        self.reason = reason
        self.answer = answer
        self.attempts = attempts
        self.refusedAt = refusedAt
    }
}

/// Keeps the dead letters of one destination. One thread at a time.
package protocol DeadLetterSink: AnyObject {
    /// Durable when it returns; throws when it cannot take all of them (it is full, the disk is).
    /// Then the destination is held and the same letters come again: a few may be kept twice, none
    /// is dropped.
    func append(_ letters: [DeadLetter]) throws
    /// Letters that somebody wants to be tried again; nil: there are none (any more); none at once: there may be some behind those that it has looked at. The next ones
    /// only after these were finished.
    func nextRetry() throws -> DeadLetterRetry?
    /// They go, durably: each is delivered, filtered out, or among the letters a second time.
    func finish(_ retry: DeadLetterRetry) throws
}

/// Of a sink whose letters nobody tries again.
extension DeadLetterSink {
    package func nextRetry() throws -> DeadLetterRetry? { nil }
    package func finish(_ retry: DeadLetterRetry) throws {}
}
