import Configuration
import Daemon
import Delivery
import Destinations
import Events
import Journal
import Routing

/// What becomes of events at one destination. One thread.
final class DestinationExplainer {
    private let destination: Configuration.Destination
    private let router: RoutedEvents
    private let tracer: RouteTracer
    private let isAlone: Bool

    /// - Parameter isAlone: events that came before are not known.
    init(
        _ destination: Configuration.Destination, in configuration: Configuration, host: String, journal: [UInt8], isAlone: Bool
    ) {
        self.isAlone = isAlone
        self.destination = destination
        router = RoutedEvents(DestinationRouter(destination, in: configuration, host: host, journal: journal))
        tracer = RouteTracer(
            name: destination.name, displayName: destination.preset?.title, pipeline: configuration.pipeline.map(\.transform),
            routes: configuration.routes(to: destination), filter: destination.filter,
            transforms: destination.transforms, host: host, maximumEventSize: destination.maximumEventSize)
    }

    func explain(_ event: EventRecord, of batch: borrowing EventBatch) -> DestinationExplanation {
        var output = OutboundBatch()
        var verdict = router.route(event, of: batch, into: &output)
        if verdict != .routed { output = OutboundBatch() }
        let refused = refusals(of: output)
        // Of several events that one became, each is refused for itself.
        if let first = refused.first, refused.count == output.events.count { verdict = .rejected(reason: first.reason) }
        return DestinationExplanation(
            destination: destination, trace: tracer.trace(event, of: batch), verdict: verdict, output: output, refused: refused,
            isAlone: isAlone)
    }

    /// Shows it what its transforms have to remember before they are asked about a position, as the daemon does.
    func recall(before position: UInt64, _ stored: StoredEvents) throws {
        var recollection = Recollection(
            before: position, from: stored.start(of: destination.name), StoredLog(stored, end: position), self)
        while try recollection?.advance(maximumBytes: .max) == true {}
    }

    /// What would not be sent, at the time of its receipt.
    private func refusals(of output: OutboundBatch) -> [DestinationExplanation.Refusal] {
        guard case .http(let http) = destination.kind, let first = output.events.first else { return [] }
        let options = HTTPOptions(http, inFlight: destination.inFlight)
        let refused = (try? HTTPRequestPreview.requests(for: output, options, at: first.receivedAt).refused) ?? [:]
        return refused.sorted { $0.key < $1.key }.map { .init(place: $0.key, reason: "not sent: \($0.value)") }
    }
}

/// To look back as far as the daemon's router.
extension DestinationExplainer: EventRouter {
    var lookback: Lookback? { router.lookback }

    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict {
        router.route(event, of: batch, into: &output)
    }

    func recall(_ event: EventRecord, of batch: borrowing EventBatch) {
        router.recall(event, of: batch)
        tracer.recall(event, of: batch)
    }
}

/// One event's story at one destination.
package struct DestinationExplanation: Sendable {
    package var destination: Configuration.Destination
    package var trace: RouteTrace
    /// `.rejected` also where all that came of the event is refused.
    package var verdict: RouteVerdict
    /// What has come of the event for it.
    package var output: OutboundBatch
    /// What of that goes to the dead letters instead, in order.
    package var refused: [Refusal]
    /// Events that came before are not known.
    package var isAlone = false

    package struct Refusal: Sendable {
        /// In `output`.
        package var place: Int
        package var reason: String
    }

    package var name: String { destination.name }

    /// What it is given, event by event.
    package var events: [[UInt8]] {
        let refused = Set(refused.map(\.place))
        return output.events.indices.filter { !refused.contains($0) }.map(event)
    }

    /// One of those in `output`.
    func event(at place: Int) -> [UInt8] { Array(output.payload[output.events[place].payload]) }

    /// Whether what stands there in `output` is what a mapping has made.
    func isMapped(at place: Int) -> Bool {
        let number = HTTPRequestPreview.number(of: output.events[place], in: output)
        let outputs = destination.outputs
        return outputs.indices.contains(number) ? !outputs[number].isWhole : destination.mapping != nil
    }

    /// How what it is given would go out.
    package var delivery: ExplainedDelivery { ExplainedDelivery(output, to: destination) }
}
