import Assembly
import DaemonConfiguration
import Delivery
import Destinations
import Events
import Journal
import Routing

/// Explains events at one destination. One thread.
final class DestinationExplainer {
    private let destination: Configuration.Destination
    private let router: RoutedEvents
    private let tracer: RouteTracer
    private let isAlone: Bool

    /// - Parameter isAlone: earlier events are unknown.
    init(
        _ destination: Configuration.Destination, in configuration: Configuration, host: String, journal: [UInt8],
        userNames: @escaping UserNames, isAlone: Bool
    ) {
        self.isAlone = isAlone
        self.destination = destination
        router = RoutedEvents(
            DestinationRouter(destination, in: configuration, host: host, journal: journal, userNames: userNames))
        tracer = RouteTracer(
            name: destination.name, displayName: destination.preset?.title,
            pipeline: configuration.pipeline.map(\.transform),
            routes: configuration.routes(to: destination), filter: destination.filter,
            transforms: destination.transforms, host: host, maximumEventSize: destination.maximumEventSize,
            userNames: userNames)
    }

    func explain(_ event: EventRecord, of batch: borrowing EventBatch) -> DestinationExplanation {
        var output = OutboundBatch()
        var verdict = router.route(event, of: batch, into: &output)
        if verdict != .routed { output = OutboundBatch() }
        let refused = refusals(of: output)
        // If one event became several, each may be refused by itself. The event is rejected if all of them are.
        if let first = refused.first, refused.count == output.events.count { verdict = .rejected(reason: first.reason) }
        return DestinationExplanation(
            destination: destination, trace: tracer.trace(event, of: batch), verdict: verdict, output: output,
            refused: refused,
            isAlone: isAlone)
    }

    /// Feeds the events before `position` to transforms that depend on earlier events, as the daemon does at a start.
    func recall(before position: UInt64, _ stored: StoredEvents) throws {
        var warmup = StateWarmup(
            before: position, from: stored.start(of: destination.name), StoredLog(stored, end: position), self)
        while try warmup?.advance(maximumBytes: .max) == true {}
    }

    /// The events that would not be sent, judged at their receive time.
    private func refusals(of output: OutboundBatch) -> [DestinationExplanation.Refusal] {
        guard case .http(let http) = destination.kind, let first = output.events.first else { return [] }
        let options = HTTPOptions(http, inFlight: destination.inFlight)
        let refused = (try? HTTPRequestPreview.requests(for: output, options, at: first.receivedAt).refused) ?? [:]
        return refused.sorted { $0.key < $1.key }.map { .init(place: $0.key, reason: "not sent: \($0.value)") }
    }
}

/// `StateWarmup` needs a router: this one looks back as far as the daemon's, and also feeds the tracer.
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

/// The explanation of one event at one destination.
package struct DestinationExplanation: Sendable {
    package var destination: Configuration.Destination
    package var trace: RouteTrace
    /// `.rejected` also if all output events are refused.
    package var verdict: RouteVerdict
    /// The routed event, or the events that it became.
    package var output: OutboundBatch
    /// The events of `output` that become dead letters instead, in order.
    package var refused: [Refusal]
    /// Earlier events are unknown.
    package var isAlone = false

    package struct Refusal: Sendable {
        /// The event's index in `output`.
        package var place: Int
        package var reason: String
    }

    package var name: String { destination.name }
    /// Whether the destination gets anything.
    package var isSent: Bool { !output.events.isEmpty }

    /// The JSON of each event that the destination gets.
    package var events: [[UInt8]] {
        let refused = Set(refused.map(\.place))
        return output.events.indices.filter { !refused.contains($0) }.map(event)
    }

    /// The JSON of the event at an index of `output`.
    func event(at place: Int) -> [UInt8] { Array(output.payload[output.events[place].payload]) }

    /// Whether a mapping has made the event at this index of `output`.
    func isMapped(at place: Int) -> Bool {
        let number = HTTPRequestPreview.number(of: output.events[place], in: output)
        let outputs = destination.outputs
        return outputs.indices.contains(number) ? !outputs[number].isWhole : destination.mapping != nil
    }

    /// The files, requests or rows that the destination would make of `output`.
    package var delivery: ExplainedDelivery { ExplainedDelivery(output, to: destination) }
}
