import Configuration
import Daemon
import Delivery
import Destinations
import Events
import Routing

/// What becomes of events at one destination. One thread.
final class DestinationExplainer {
    private let destination: Configuration.Destination
    private let router: RoutedEvents
    private let tracer: RouteTracer

    init(_ destination: Configuration.Destination, in configuration: Configuration, host: String, journal: [UInt8]) {
        self.destination = destination
        router = RoutedEvents(DestinationRouter(destination, in: configuration, host: host, journal: journal))
        tracer = RouteTracer(
            name: destination.name, pipeline: configuration.pipeline.map(\.transform),
            routes: configuration.routes(to: destination), filter: destination.filter,
            transforms: destination.transforms, host: host, maximumEventSize: destination.maximumEventSize)
    }

    func explain(_ event: EventRecord, of batch: borrowing EventBatch) -> DestinationExplanation {
        var output = OutboundBatch()
        var verdict = router.route(event, of: batch, into: &output)
        if verdict == .routed, let reason = refusal(of: output) { verdict = .rejected(reason: reason) }
        if verdict != .routed { output = OutboundBatch() }
        return DestinationExplanation(
            destination: destination, trace: tracer.trace(event, of: batch), verdict: verdict, output: output)
    }

    /// Why it would not be sent, at the time of its receipt.
    private func refusal(of output: OutboundBatch) -> String? {
        guard case .http(let http) = destination.kind, let first = output.events.first else { return nil }
        let options = HTTPOptions(http, inFlight: destination.inFlight)
        let refused = (try? HTTPRequestPreview.requests(for: output, options, at: first.receivedAt).refused) ?? [:]
        return refused.min { $0.key < $1.key }.map { "not sent: \($0.value)" }
    }
}

/// One event's story at one destination.
package struct DestinationExplanation: Sendable {
    package var destination: Configuration.Destination
    package var trace: RouteTrace
    package var verdict: RouteVerdict
    /// What it is given; empty unless the verdict is `.routed`.
    package var output: OutboundBatch

    package var name: String { destination.name }

    /// What it is given, event by event.
    package var events: [[UInt8]] { output.events.map { Array(output.payload[$0.payload]) } }

    /// How what it is given would go out.
    package var delivery: ExplainedDelivery { ExplainedDelivery(output, to: destination) }
}
