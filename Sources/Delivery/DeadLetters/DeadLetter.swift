import Events

/// An event that a destination or the router rejected.
package struct DeadLetter: Sendable, Equatable {
    package var position: UInt64
    /// When this host received it: nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    /// When the first host received it. A stored letter has it only while the journal has the event.
    package var firstReceivedAt: Int64
    /// The event as the client sent it: a retry applies the configuration at the time of the retry.
    package var event: [UInt8]
    /// The field index of `event`.
    package var index: EventIndex
    /// The client that sent it; nil: the journal has lost the event, and `event` is the rendered form that was offered
    /// to the destination.
    package var origin: Origin?
    package var reason: String
    /// The service's answer, or an empty string.
    package var answer: String
    /// How often it was offered; 0: it was rejected before it reached the destination.
    package var attempts: UInt32
    /// When it was rejected; nanoseconds since 1970-01-01 UTC.
    package var refusedAt: Int64

    package init(
        position: UInt64, receivedAt: Int64, firstReceivedAt: Int64? = nil, event: [UInt8], index: EventIndex,
        origin: Origin?, reason: String, answer: String, attempts: UInt32, refusedAt: Int64
    ) {
        self.position = position
        self.receivedAt = receivedAt
        self.firstReceivedAt = firstReceivedAt ?? receivedAt
        self.event = event
        self.index = index
        self.origin = origin
        self.reason = reason
        self.answer = answer
        self.attempts = attempts
        self.refusedAt = refusedAt
    }
}

/// Stores the dead letters of one destination. Use by one thread at a time.
package protocol DeadLetterSink: AnyObject {
    /// Stores letters durably before it returns. Throws when it can't store all of them: the store or the disk is full.
    /// The destination is then held, and the same letters are passed again. A few letters may be stored twice; none is
    /// dropped.
    func append(_ letters: [DeadLetter]) throws
    /// The next letters to retry; nil: nothing left to retry. An empty result: call again, more may follow. Finish one
    /// retry before asking for the next.
    func nextRetry() throws -> DeadLetterRetry?
    /// Removes the retried letters durably. Each was delivered, filtered out, or stored as a dead letter again.
    func finish(_ retry: DeadLetterRetry) throws
}

/// The defaults of a sink that offers no retries.
extension DeadLetterSink {
    package func nextRetry() throws -> DeadLetterRetry? { nil }
    package func finish(_ retry: DeadLetterRetry) throws {}
}
