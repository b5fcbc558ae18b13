import Events
import Platform

/// What one destination does with batches: a file, an HTTP service, a plugin.
///
/// Lifecycle, all in the turns of the destination's worker, one call at a time: `attach` and `open` once; then any
/// number of `resume`, `deliver` and the two `checkpoint`s; `close` once. `open` that throws is tried again with backoff.
/// Where the worker's turns run in a pool, each call may come on another thread, and none may wait.
package protocol Destination: AnyObject {
    /// Bounds of its own, in addition to the configuration's. Those of a batch are read after
    /// `open`; `maximumInFlight` before each offer, since it may change.
    var limits: DestinationLimits { get }

    /// Takes what asks for a turn, for a destination whose answers arrive on another thread.
    /// - Parameter wake: any thread; cheap.
    func attach(wake: @escaping @Sendable () -> Void)

    /// Takes the answers that arrived. Called several times in each turn, also while it is closed.
    func resume()

    /// Makes it ready.
    /// - Parameter cursor: where delivery stood when it was last durable.
    /// - Returns: the position to start at, if the destination itself knows better (it keeps its
    ///   position with its data); nil: the cursor's.
    func open(from cursor: Cursor) throws -> UInt64?

    /// Offers a batch. It is settled exactly once through the claim, from any thread, also before
    /// this returns. `batch` may be kept until then.
    func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim)

    /// Makes durable whatever was settled as delivered so far, and gives the state to keep with
    /// the cursor; nil where there is nothing to keep. Throws: the cursor stays, everything since
    /// is delivered again after a restart.
    func checkpoint() throws -> [UInt8]?

    /// The same, where it need not be waited for: makes durable what it can without holding up delivery.
    /// - Parameter position: everything below is settled.
    /// - Returns: a cursor that is durable by now, of this call or of an earlier one; nil: there is
    ///   none yet, and the next call may have it. Throws as `checkpoint()` does.
    func checkpoint(settled position: UInt64) throws -> Cursor?

    /// Whether the other `checkpoint` may give the cursor of the call before.
    var checkpointsLate: Bool { get }

    /// Whether what it has taken needs no checkpoint, and nothing is kept with its cursor: no state, and no position with
    /// its data. What is settled is then kept after each batch, so that a kill repeats only what was in flight. A
    /// destination that keeps a state must not say so: it would be given a position that its state does not know.
    var settlesAtOnce: Bool { get }

    /// Ends it; claims still held are settled (as retry) or dropped.
    func close()
}

extension Destination {
    package func attach(wake: @escaping @Sendable () -> Void) {}
    package func resume() {}
    package var checkpointsLate: Bool { false }
    package var settlesAtOnce: Bool { false }

    package func checkpoint(settled position: UInt64) throws -> Cursor? {
        Cursor(position: position, state: try checkpoint() ?? [])
    }
}

package struct DestinationLimits: Sendable, Equatable {
    package var maximumBatchEvents: Int
    package var maximumBatchBytes: Int
    package var maximumInFlight: Int
    /// What a limit of requests counts: events that go in one. `max`: a whole batch.
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

/// The right and duty to say once what became of a batch. One that is dropped says "retry".
package struct DeliveryClaim: ~Copyable, Sendable {
    /// One outcome for all events, or one for each in the batch's order.
    package enum Settlement: Sendable {
        case all(Outcome)
        case each([Outcome])
    }

    private var answer: (@Sendable (Settlement) -> Void)?

    package init(_ answer: @escaping @Sendable (Settlement) -> Void) {
        self.answer = answer
    }

    deinit { answer?(.all(.retry(reason: "the destination did not say what became of the batch"))) }

    /// Any thread.
    package consuming func settle(_ settlement: Settlement) {
        let answer = self.answer
        self.answer = nil
        answer?(settlement)
    }
}
