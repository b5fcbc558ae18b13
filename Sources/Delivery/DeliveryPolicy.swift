import Platform

/// The bounds of one destination's batches, in-flight window and retries. The initializer moves each value into its
/// valid range.
package struct DeliveryPolicy: Sendable, Equatable {
    /// The events that keep their order while some of them wait for a retry.
    package enum Order: Sendable {
        /// Everything: no newer event is offered until the retry succeeds. Batches in flight at the same time may still
        /// arrive in another order.
        case destination
        /// Each user's events, however many batches are in flight. Other users' events may overtake them.
        case user
    }

    /// A batch is sent when it has this many events,
    package var batchEvents: Int
    /// or this many bytes of payload (a single event may be larger),
    package var batchBytes: Int
    /// or when its first event has waited this long. Zero: available events are sent at once.
    package var batchWait: Duration
    /// The maximum number of batches in flight, those that wait for a retry included.
    package var inFlight: Int
    /// The shortest wait before a retry,
    package var retryInitial: Duration
    /// and the longest, even if a service asks for more. A held destination is retried at this interval.
    package var retryMaximum: Duration
    package var order: Order
    /// nil: unlimited.
    package var rateLimit: RateLimit?
    /// Events that were answered with "retry" for this long become dead letters; nil: never.
    package var giveUpAfter: Duration?
    /// So do events that were answered with "retry" this many times; nil: never.
    package var attempts: Int?
    /// How long settled events may wait for their checkpoint. A crash repeats at most the events of this interval.
    package var checkpointInterval: Duration
    /// The maximum number of backfill batches in flight. Never more than half of `inFlight`, but at least one; nil:
    /// half.
    package var backfillInFlight: Int?

    package init(
        batchEvents: Int = 1000, batchBytes: Int = 1 << 20, batchWait: Duration = .zero, inFlight: Int = 1,
        retryInitial: Duration = .milliseconds(500), retryMaximum: Duration = .seconds(300),
        giveUpAfter: Duration? = nil, attempts: Int? = nil, order: Order = .destination, rateLimit: RateLimit? = nil,
        checkpointInterval: Duration = .seconds(1), backfillInFlight: Int? = nil
    ) {
        // A year is longer than any sensible value, and far below where nanoseconds overflow.
        func within(_ least: Duration, _ value: Duration) -> Duration { min(max(value, least), .seconds(365 * 86_400)) }
        self.batchEvents = max(1, batchEvents)
        self.batchBytes = max(1, batchBytes)
        self.batchWait = within(.zero, batchWait)
        self.inFlight = max(1, inFlight)
        self.retryInitial = within(.milliseconds(1), retryInitial)
        self.retryMaximum = within(self.retryInitial, retryMaximum)
        self.order = order
        self.rateLimit = rateLimit
        self.giveUpAfter = giveUpAfter.map { max($0, .zero) }
        self.attempts = attempts.map { max($0, 1) }
        self.backfillInFlight = backfillInFlight.map { max($0, 1) }
        self.checkpointInterval = within(.milliseconds(1), checkpointInterval)
    }
}
