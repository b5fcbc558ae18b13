import Platform

/// How one destination is served: the bounds of its batches, its in-flight window and its retries.
/// Values outside of what can be meant are moved to the nearest one that can.
package struct DeliveryPolicy: Sendable, Equatable {
    /// What stays in order when something has to be tried again.
    package enum Order: Sendable {
        /// Everything: nothing newer is offered until it got through. Batches that are under way at the
        /// same time may still be taken in another order.
        case destination
        /// Each user's events, however many batches are under way; other users' pass.
        case user
    }

    /// A batch goes when it has this many events,
    package var batchEvents: Int
    /// or this many bytes of payload (only a single event may have more),
    package var batchBytes: Int
    /// or when its first event has waited this long. Zero: whatever there is goes at once.
    package var batchWait: Duration
    /// Batches that may be on offer, or wait to be offered again, at the same time.
    package var inFlight: Int
    /// No retry comes sooner than this,
    package var retryInitial: Duration
    /// and none later, whatever a service asks for. Also how often a held destination is tried.
    package var retryMaximum: Duration
    package var order: Order
    /// nil: as fast as it goes.
    package var rateLimit: RateLimit?
    /// What has been refused with "retry" for this long becomes a dead letter; nil: never.
    package var giveUpAfter: Duration?
    /// So does what has been refused with "retry" so often; nil: never.
    package var attempts: Int?
    /// How long settled events may wait for their checkpoint: what a crash can repeat.
    package var checkpointInterval: Duration
    /// Batches of replays and of retried dead letters that may be on offer at the same time: never more than half of
    /// `inFlight` (but one); nil: half.
    package var backfillInFlight: Int?

    package init(
        batchEvents: Int = 1000, batchBytes: Int = 1 << 20, batchWait: Duration = .zero, inFlight: Int = 1,
        retryInitial: Duration = .milliseconds(500), retryMaximum: Duration = .seconds(300),
        giveUpAfter: Duration? = nil, attempts: Int? = nil, order: Order = .destination, rateLimit: RateLimit? = nil, checkpointInterval: Duration = .seconds(1), backfillInFlight: Int? = nil
    ) {
        // A year is beyond every use, and far from where nanoseconds overflow.
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
