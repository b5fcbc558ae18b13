import Delivery
import Events
import Routing

/// Selects a replay's events from the range of the journal that it reads. The worker's thread only.
package final class ReplayedEvents: EventRouter {
    private let times: (from: Int64, until: Int64)
    private let condition: FilterMatcher?
    private let router: RoutedEvents

    /// - Parameter host: the name of this machine.
    /// - Throws: the error in the replay's filter.
    package init(_ replay: Replay, _ router: RoutedEvents, host: String, userNames: @escaping UserNames) throws {
        times = (replay.from, replay.until)
        condition = try replay.condition.map {
            FilterMatcher(
                try Filter(parsing: $0), isReplay: true, host: host, userNames: userNames)
        }
        self.router = router
    }

    package func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch)
        -> Delivery.RouteVerdict
    {
        // Positions and times may be out of step if the machine's clock was changed.
        guard event.receivedAt >= times.from, event.receivedAt < times.until else { return .filtered(reason: "time") }
        if let condition, !condition.matches(batch.json(of: event), event.index, from: batch.origin(of: event)) {
            return .filtered(reason: "where")
        }
        return router.route(event, of: batch, into: &output)
    }

    package var mayTakeLong: Bool { router.mayTakeLong }

    // The lookback is that of live delivery, regardless of the replay's range and filter.
    package var lookback: Lookback? { router.lookback }
    package func recall(_ event: EventRecord, of batch: borrowing EventBatch) { router.recall(event, of: batch) }
}
