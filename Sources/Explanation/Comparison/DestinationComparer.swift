import Assembly
import DaemonConfiguration
import Delivery
import Destinations
import Events
import Routing

/// Compares what a destination gets for events under two configurations. One thread.
final class DestinationComparer {
    let pair: DestinationPair
    private(set) var tally: ComparisonTally
    private var old: Side
    private var new: Side
    private var difference = FieldDifference()
    /// What is left for samples, in bytes.
    private var sampleBytes: Int

    /// What both sides have in common.
    struct Surroundings {
        var host: String
        /// The 16 bytes that identify the journal.
        var journal: [UInt8]
        var userNames: UserNames
        var samples: Int
        /// The most bytes of a destination's samples; nil: no limit.
        var sampleBytes: Int?
    }

    init(
        _ pair: DestinationPair, from old: Configuration, to new: Configuration, _ surroundings: Surroundings
    ) {
        self.pair = pair
        tally = ComparisonTally(samples: surroundings.samples)
        sampleBytes = surroundings.sampleBytes ?? .max
        self.old = Side(pair.old, old, surroundings)
        self.new = Side(pair.new, new, surroundings)
    }

    /// How far back earlier events decide; nil: each event is compared by itself, in any order.
    var lookback: Lookback? {
        guard let a = old.lookback, let b = new.lookback else { return old.lookback ?? new.lookback }
        return a.time >= b.time ? a : b
    }

    /// Feeds an event to transforms that remember earlier events, and compares nothing.
    func recall(_ event: EventRecord, of batch: borrowing EventBatch) {
        old.recall(event, of: batch)
        new.recall(event, of: batch)
    }

    func compare(_ event: EventRecord, of batch: borrowing EventBatch) {
        let before = old.outcome(event, of: batch)
        let after = new.outcome(event, of: batch)
        let outputsDiffer = before == .sent && after == .sent && !old.hasSameOutput(as: new)
        guard var verdict = EventVerdict(before, after, outputsDiffer: outputsDiffer) else { return }
        var kind = ComparisonTally.Kind(verdict: verdict)
        switch verdict {
        case .same: return tally.count(.same)
        case .changed:
            kind.detail = old.fields(to: new, &difference)
            // Only the order or the spelling differs, which no receiver of JSON may rely on.
            if kind.detail.isEmpty { verdict = .same }
            tally.count(kind.detail)
        case .added: kind.reason = Self.reason(before)
        case .lost, .deadLetter: kind.reason = Self.reason(after)
        }
        tally.count(verdict)
        guard verdict != .same else { return }
        tally.keep(kind) {
            let size = event.range.count + old.output.payload.count + new.output.payload.count
            let fits = size <= min(ComparisonSample.maximumSize, sampleBytes)
            if fits { sampleBytes -= size }
            return ComparisonSample(
                position: event.position, receivedAt: event.receivedAt,
                event: fits ? batch.text(of: event) : [],
                old: .init(outcome: before, output: fits ? old.output : OutboundBatch()),
                new: .init(outcome: after, output: fits ? new.output : OutboundBatch()))
        }
    }

    private static func reason(_ outcome: EventOutcome) -> String {
        switch outcome {
        case .nothing(let reason), .deadLetter(let reason): reason
        case .sent: ""
        }
    }

    /// One of the two configurations.
    private struct Side {
        private let router: RoutedEvents?
        private var refusals: RequestRefusals?
        private(set) var output = OutboundBatch()

        /// - Parameter destination: nil: this configuration does not have it.
        init(
            _ destination: Configuration.Destination?, _ configuration: Configuration, _ surroundings: Surroundings
        ) {
            router = destination.map {
                RoutedEvents(
                    DestinationRouter(
                        $0, in: configuration, host: surroundings.host, journal: surroundings.journal,
                        userNames: surroundings.userNames))
            }
            guard case .http(let http)? = destination?.kind, let inFlight = destination?.inFlight else { return }
            // Options that are not valid are found when the configuration is checked. Nothing is refused then.
            refusals = try? RequestRefusals(HTTPOptions(http, inFlight: inFlight))
        }

        var lookback: Lookback? { router?.lookback }

        func recall(_ event: EventRecord, of batch: borrowing EventBatch) { router?.recall(event, of: batch) }

        mutating func outcome(_ event: EventRecord, of batch: borrowing EventBatch) -> EventOutcome {
            output.removeAll()
            guard let router else { return .nothing(reason: "") }
            switch router.route(event, of: batch, into: &output) {
            case .filtered(let reason): return .nothing(reason: reason)
            case .rejected(let reason): return .deadLetter(reason: reason)
            case .routed: break
            }
            for place in output.events.indices {
                if let reason = refusals?.reason(for: place, of: output) {
                    return .deadLetter(reason: "not sent: \(reason)")
                }
            }
            return .sent
        }

        func hasSameOutput(as other: borrowing Side) -> Bool {
            output.events.count == other.output.events.count
                && output.payload.span.hasBytes(of: other.output.payload.span)
        }

        /// The fields in which two outputs differ: first those of the request around the event.
        func fields(to other: borrowing Side, _ difference: inout FieldDifference) -> [DifferingField] {
            var fields: [DifferingField] = []
            for (a, b) in zip(output.events, other.output.events) {
                let before = output.payload.span.extracting(a.payload.lowerBound - a.envelope..<a.payload.lowerBound)
                let after = other.output.payload.span.extracting(
                    b.payload.lowerBound - b.envelope..<b.payload.lowerBound)
                if !before.hasBytes(of: after) {
                    fields.append(DifferingField(path: Array("(request)".utf8), change: .changed))
                }
                difference.compare(
                    output.payload.span.extracting(a.payload), other.output.payload.span.extracting(b.payload))
                fields += difference.fields
            }
            let (old, new) = (output.events.count, other.output.events.count)
            if old != new {
                fields.append(
                    DifferingField(path: Array("(events)".utf8), change: old < new ? .added : .removed))
            }
            return fields.count < 2 ? fields : Self.unique(fields)
        }

        private static func unique(_ fields: [DifferingField]) -> [DifferingField] {
            var seen: Set<DifferingField> = []
            return fields.filter { seen.insert($0).inserted }
        }
    }
}
