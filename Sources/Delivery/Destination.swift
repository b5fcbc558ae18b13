import Events
import Platform

/// Takes batches and reports an outcome for each event: a file, an HTTP service, a plugin.
///
/// Lifecycle: the worker makes every call in its turns, one call at a time. It calls `attach` once; then `open`, which
/// it retries with backoff if it throws; then `resume`, `deliver` and both forms of `checkpoint` any number of times;
/// then `close`. If the worker runs in a pool, each call may come on another thread, and no call may wait.
package protocol Destination: AnyObject {
    /// The destination's own bounds, in addition to the configured ones. The worker reads the batch bounds after
    /// `open`, and `maximumInFlight` before each offer, because it may change. If it rises between turns, the
    /// destination wakes the worker.
    var limits: DestinationLimits { get }

    /// Gives the destination a function that requests a turn. Destinations whose answers arrive on another thread need
    /// it.
    /// - Parameter wake: may be called from any thread; cheap.
    func attach(wake: @escaping @Sendable () -> Void)

    /// Processes answers that have arrived. Called several times in each turn, also while the destination is closed.
    func resume()

    /// Opens the destination.
    /// - Parameter cursor: the last durable cursor.
    /// - Returns: the position to start at, if the destination keeps its position with its data; nil: start at the
    ///   cursor's position.
    func open(from cursor: Cursor) throws -> UInt64?

    /// Offers a batch. The claim settles it exactly once, from any thread, possibly before this call returns. The
    /// destination may keep `batch` until then.
    func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim)

    /// Makes durable everything that was settled as delivered so far.
    /// - Returns: the state to keep with the cursor; nil: no state.
    /// - Throws: the cursor stays, and a restart delivers again everything after it.
    func checkpoint() throws -> [UInt8]?

    /// Makes durable as much as it can without holding up delivery.
    /// - Parameter position: everything below is settled.
    /// - Returns: a cursor that is durable now, from this call or an earlier one; nil: no cursor is durable yet, and a
    ///   later call may return one.
    /// - Throws: as `checkpoint()` does.
    func checkpoint(settled position: UInt64) throws -> Cursor?

    /// Whether `checkpoint(settled:)` may return the cursor of the previous call.
    var checkpointsLate: Bool { get }

    /// Whether delivered events need no checkpoint and the destination keeps nothing with its cursor: neither state nor
    /// a position with its data. The worker then records settled positions after each batch, so that a kill repeats
    /// only what was in flight. A destination that keeps state must return false: otherwise it is opened at a position
    /// that its state does not cover.
    var settlesAtOnce: Bool { get }

    /// Why the destination has lost what was settled as delivered since the last checkpoint, if it has: its process
    /// ended, for example. The worker then closes it and opens it again at its cursor, after a backoff. Read at the
    /// beginning of each turn, so the destination wakes the worker when it has failed.
    var failure: String? { get }

    /// Closes the destination. It settles the claims that it still holds as retry, or drops them.
    func close()
}

extension Destination {
    package func attach(wake: @escaping @Sendable () -> Void) {}
    package func resume() {}
    package var checkpointsLate: Bool { false }
    package var settlesAtOnce: Bool { false }
    package var failure: String? { nil }

    package func checkpoint(settled position: UInt64) throws -> Cursor? {
        Cursor(position: position, state: try checkpoint() ?? [])
    }
}

package struct DestinationLimits: Sendable, Equatable {
    package var maximumBatchEvents: Int
    package var maximumBatchBytes: Int
    package var maximumInFlight: Int
    /// The number of events in one request, for a rate limit in requests. `max`: a whole batch is one request.
    package var eventsPerRequest: Int

    package init(
        maximumBatchEvents: Int = .max, maximumBatchBytes: Int = .max, maximumInFlight: Int = .max,
        eventsPerRequest: Int = .max
    ) {
        self.eventsPerRequest = eventsPerRequest
        self.maximumBatchEvents = maximumBatchEvents
        self.maximumBatchBytes = maximumBatchBytes
        self.maximumInFlight = maximumInFlight
    }
}

/// The right and the duty to report once how a batch ended. Dropping a claim reports retry.
package struct DeliveryClaim: ~Copyable, Sendable {
    /// One outcome for all events, or one per event in the batch's order.
    package enum Settlement: Sendable {
        case all(Outcome)
        case each([Outcome])
    }

    private var answer: (@Sendable (Settlement) -> Void)?

    package init(_ answer: @escaping @Sendable (Settlement) -> Void) {
        self.answer = answer
    }

    deinit { answer?(.all(.retry(reason: "the destination reported no outcome for the batch"))) }

    /// Any thread.
    package consuming func settle(_ settlement: Settlement) {
        let answer = self.answer
        self.answer = nil
        answer?(settlement)
    }
}
