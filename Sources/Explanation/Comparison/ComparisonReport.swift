import DaemonConfiguration
import Events

/// The result of a comparison, for people and programs.
package struct ComparisonReport: Codable, Sendable {
    package struct Counts: Codable, Sendable, Equatable {
        package var same: UInt64 = 0
        package var added: UInt64 = 0
        package var lost: UInt64 = 0
        package var changed: UInt64 = 0
        package var deadLetters: UInt64 = 0

        package var total: UInt64 { same + added + lost + changed + deadLetters }
        package var differing: UInt64 { added + lost + changed + deadLetters }

        enum CodingKeys: String, CodingKey {
            case same, added, lost, changed
            case deadLetters = "dead_letters"
        }
    }

    /// In how many events a field is added, removed or changed.
    package struct Field: Codable, Sendable, Equatable {
        /// The path in what the destination gets; `*` stands for each item of a list. `(request)`: the URL, a header or
        /// the text around the event. `(events)`: the number of events that the event becomes.
        package var path: String
        package var added: Int
        package var removed: Int
        package var changed: Int

        package var total: Int { added + removed + changed }
    }

    package struct Setting: Codable, Sendable, Equatable {
        package var key: String
        package var before: String?
        package var after: String?
    }

    package struct Line: Codable, Sendable, Equatable {
        /// A space, `-` or `+`.
        package var mark: String
        package var text: String
    }

    package struct Sample: Codable, Sendable {
        package var verdict: EventVerdict
        package var position: UInt64
        package var receivedAt: String
        package var type: String?
        package var name: String?
        /// Why the destination does not get the event now, or why it is a dead letter; nil: it gets it.
        package var before: String?
        package var after: String?
        /// The final request, or the final event, line by line. If neither configuration sends the event, the event
        /// as the journal has it. Empty if the event is too large to be shown.
        package var lines: [Line]

        enum CodingKeys: String, CodingKey {
            case verdict, position, type, name, before, after, lines
            case receivedAt = "received_at"
        }
    }

    package struct Destination: Codable, Sendable {
        package enum State: String, Codable, Sendable {
            case same, changed, added, removed, renamed
        }

        package var name: String
        package var state: State
        /// The name in the old configuration.
        package var renamedFrom: String?
        /// From where a new destination gets events: `now` (later ones only), `earliest`, or a time. nil: it continues.
        package var start: String?
        /// nil: nothing that decides about its events differs, so none was compared.
        package var counts: Counts?
        /// The fields that differ in most events, at most `maximumFields`.
        package var fields: [Field] = []
        /// Differences in fields that are not listed.
        package var otherFields = 0
        /// Settings of the target and of the requests that differ: they apply to every event.
        package var target: [Setting] = []
        /// Other settings that differ, which change no event.
        package var settings: [String] = []
        package var samples: [Sample] = []

        /// Whether the destination gets other events, or gets them in another way or place.
        package var changes: Bool { state != .same }

        enum CodingKeys: String, CodingKey {
            case name, state, start, counts, fields, target, settings, samples
            case renamedFrom = "renamed_from"
            case otherFields = "other_fields"
        }
    }

    package static let maximumFields = 20

    /// Whether the new configuration changes what any destination gets.
    package var changes: Bool
    /// The number of events compared.
    package var events: UInt64
    package var first: UInt64?
    package var last: UInt64?
    package var firstReceivedAt: String?
    package var lastReceivedAt: String?
    /// Positions that cannot be read, because the journal is damaged.
    package var missing: UInt64
    /// false: the comparison was ended before the last event.
    package var isWhole: Bool
    /// Parts of the configuration that differ and decide before an event is stored, so that the journal's events cannot
    /// show their effect.
    package var notCompared: [String]
    package var destinations: [Destination]

    enum CodingKeys: String, CodingKey {
        case changes, events, first, last, missing, destinations
        case firstReceivedAt = "first_received_at"
        case lastReceivedAt = "last_received_at"
        case isWhole = "whole"
        case notCompared = "not_compared"
    }
}

extension ComparisonReport {
    init(
        from old: Configuration, to new: Configuration, _ pairs: [DestinationPair],
        _ tallies: [String: ComparisonTally], _ events: ComparedEvents, missing: UInt64,
        isWhole: Bool
    ) {
        destinations = pairs.map { Destination($0, tallies[$0.name]) }
        changes = destinations.contains(where: \.changes)
        self.events = events.count
        first = events.first?.position
        last = events.last?.position
        firstReceivedAt = events.first.map { Timestamp.format($0.receivedAt) }
        lastReceivedAt = events.last.map { Timestamp.format($0.receivedAt) }
        self.missing = missing
        self.isWhole = isWhole
        let difference = ConfigurationDifference(from: old, to: new)
        notCompared = (difference.sources.isEmpty ? [] : ["sources"]) + (difference.planChanged ? ["plan"] : [])
    }
}

extension ComparisonReport.Destination {
    init(_ pair: DestinationPair, _ tally: ComparisonTally?) {
        name = pair.name
        target = pair.target.map { .init(key: $0.key, before: $0.before, after: $0.after) }
        settings = pair.others
        if let tally, !pair.isIdentical {
            counts = .init(
                same: tally.same, added: tally.added, lost: tally.lost, changed: tally.changed,
                deadLetters: tally.deadLetters)
            let sorted = tally.fields.sorted
            fields = sorted.prefix(ComparisonReport.maximumFields).map { field in
                .init(
                    path: String(decoding: field.path, as: UTF8.self), added: field.counts.added,
                    removed: field.counts.removed, changed: field.counts.changed)
            }
            otherFields =
                tally.fields.others
                + sorted.dropFirst(ComparisonReport.maximumFields).reduce(0) { $0 + $1.counts.total }
            samples = [EventVerdict.deadLetter, .lost, .changed, .added].flatMap { verdict in
                tally.samples(verdict).map { .init($0, verdict, pair) }
            }
        }
        if pair.state == .added || pair.state == .renamed { start = pair.new.map { Self.text($0.start) } }
        switch pair.state {
        case .added: state = .added
        case .removed: state = .removed
        case .renamed:
            state = .renamed
            renamedFrom = pair.old?.name
        case .kept: state = (counts?.differing ?? 0) > 0 || !target.isEmpty ? .changed : .same
        }
    }
}

extension ComparisonReport.Destination {
    private static func text(_ start: Configuration.Destination.Start) -> String {
        switch start {
        case .now: "now"
        case .earliest: "earliest"
        case .time(let time): Timestamp.format(time)
        }
    }
}

extension ComparisonReport.Sample {
    fileprivate init(_ sample: ComparisonSample, _ verdict: EventVerdict, _ pair: DestinationPair) {
        self.verdict = verdict
        position = sample.position
        receivedAt = Timestamp.format(sample.receivedAt)
        let tree = JSONTree(sample.event)
        if case .string(let text)? = tree?["type"] { type = text }
        if case .string(let text)? = tree?["event"] ?? tree?["name"] { name = String(text.prefix(200)) }
        before = Self.reason(sample.old.outcome, isThere: pair.old != nil)
        after = Self.reason(sample.new.outcome, isThere: pair.new != nil)
        func lines(_ side: ComparisonSample.Side, _ destination: Configuration.Destination?) -> [String] {
            guard case .sent = side.outcome, let destination else { return [] }
            return FinalLines.lines(side.output, to: destination)
        }
        let (old, new) = (lines(sample.old, pair.old), lines(sample.new, pair.new))
        let isSent = !old.isEmpty || !new.isEmpty
        let event = isSent ? [] : tree?.expandedLines ?? []
        self.lines = LineDifference(from: isSent ? old : event, to: isSent ? new : event).lines.map {
            .init(mark: $0.mark.rawValue, text: $0.text)
        }
    }

    private static func reason(_ outcome: EventOutcome, isThere: Bool) -> String? {
        guard isThere else { return "there is no such destination" }
        switch outcome {
        case .sent: return nil
        case .nothing(let reason): return ExplanationText.sentence(reason)
        case .deadLetter(let reason): return "to the dead letters: \(reason)"
        }
    }
}
