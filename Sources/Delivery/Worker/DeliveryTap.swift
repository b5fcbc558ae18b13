import Events

/// Watches the events of one destination, for `penstock tap`. The worker never waits for it: what a tap cannot take at
/// once, it counts. Any thread.
package protocol DeliveryTap: AnyObject, Sendable {
    /// Whether anybody watches the router's verdicts. Asked once per run of events; one relaxed load while nobody taps.
    var watchesRouting: Bool { get }
    /// Whether anybody watches what the destination is given. Asked once per batch; one relaxed load while nobody taps.
    var watchesSending: Bool { get }

    /// Takes verdicts of the router.
    /// - Parameter events: the events that the verdicts are about.
    func take(_ run: RoutedRun, of events: EventBatch)
    /// Takes a batch that was offered to the destination, with its outcomes.
    func take(sent batch: OutboundBatch, _ settlement: DeliveryClaim.Settlement)
}

/// The router's verdicts about some events of a batch, with copies of what it wrote.
package struct RoutedRun: Sendable {
    package struct Decision: Sendable {
        /// The index of the event in its batch.
        package var event: Int
        package var verdict: RouteVerdict
        /// What the destination gets, as a range of `output`; empty unless the event is routed. An event that
        /// transforms have split has a decision for each part.
        package var output: Range<Int>
    }

    package private(set) var decisions: [Decision] = []
    package private(set) var output: [UInt8] = []

    package init() {}

    /// - Parameter first: the index of the event's first output in `batch`.
    mutating func add(_ event: Int, _ verdict: RouteVerdict, _ batch: borrowing OutboundBatch, from first: Int) {
        guard verdict == .routed, first < batch.events.count else {
            return decisions.append(Decision(event: event, verdict: verdict, output: 0..<0))
        }
        for index in first..<batch.events.count {
            let start = output.count
            output.append(contentsOf: batch.payload[batch.events[index].payload])
            decisions.append(Decision(event: event, verdict: verdict, output: start..<output.count))
        }
    }
}
