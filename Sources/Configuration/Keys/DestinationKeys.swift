/// `destinations.NAME`: the common keys, and those of each kind.
extension Section where Target == DestinationDraft {
    static let common: [Field<DestinationDraft>] = [
        Field("start", \.start, .start, "the first event of a new destination: now, earliest or a time"),
        Field("where", \.rules.condition, .filter, "only events that match this filter"),
        Field("transforms", \.rules.transforms, .transforms, "transforms, after those of the route"),
        Field(
            "mapping", \.mapping, .mapping, "the output in place of the event: values, paths, directives"),
        Field(
            "max_event_size", \.maximumEventSize, .size((1 << 10)...(64 << 20)),
            "the most bytes of an event after its mapping, and that transforms may add to it"),
        Field(
            "batch",
            keys: Section([
                Field(
                    "events", \.batchEvents, .integer(1...100_000), default: "by kind",
                    "the most events in a batch"),
                Field(
                    "bytes", \.batchBytes, .size((1 << 10)...(64 << 20)), default: "1MiB",
                    "the most bytes in a batch"),
                Field(
                    "wait", \.batchWait, .duration(.zero...days(1)), default: "by kind",
                    "how long a batch's first event waits for more"),
            ]), "the size of batches"),
        Field(
            "in_flight", \.inFlight, .inFlight(1...1_024), default: "by kind",
            "the most batches in flight; with { minimum: , maximum: }, the limit follows what the service can handle"),
        Field(
            "rate_limit",
            keys: Section([
                Field(
                    "events_per_second", \.rateLimit.eventsPerSecond, .integer(1...100_000_000), default: "unlimited",
                    "the most events sent per second"),
                Field(
                    "requests_per_second", \.rateLimit.requestsPerSecond, .integer(1...1_000_000), default: "unlimited",
                    "the most requests, or batches, sent per second"),
                Field(
                    "burst", \.rateLimit.burst, .integer(1...100_000_000), default: "events_per_second",
                    "the most events sent at once after a pause"),
                Field("per", \.rateLimit.per, .choice, "whose events are counted: the destination's, or each user's"),
            ]), "limits on the rate of delivery"),
        Field(
            "retry",
            keys: Section([
                Field(
                    "initial", \.retry.initial, .duration(.milliseconds(1)...days(1)),
                    "wait before the first retry"),
                Field(
                    "max", \.retry.max, .duration(.milliseconds(1)...days(1)), "the longest wait between two attempts"),
                Field(
                    "give_up_after", \.retry.giveUpAfter, .duration(.seconds(1)...days(3_650)), default: "never",
                    "after this long, events become dead letters"),
                Field(
                    "attempts", \.retry.attempts, .integer(1...1_000_000), default: "unlimited",
                    "requests that are tried for an event before it becomes a dead letter: those that got no answer,"
                        + " or one that asks for a retry, whatever batch the event was in; a request that was too"
                        + " large, or rejected for its credential, does not count; a replay, a retry of dead letters,"
                        + " a reload that changes the destination and a restart count anew"),
            ]), "when to retry a failed delivery"),
        Field(
            "dead_letters",
            keys: Section([
                Field("size", \.deadLetters.size, .size((64 << 10)...(1 << 50)), "the most bytes of dead letters"),
                Field("time", \.deadLetters.time, .duration(.seconds(3_600)...days(3_650)), "how long to keep them"),
                Field(
                    "when_full", \.deadLetters.whenFull, .choice,
                    "what happens at this size: the destination is held until some are retried or dropped, or the"
                        + " oldest are dropped"),
            ]), "events that the destination rejected"),
        Field(
            "replay",
            keys: Section([
                Field(
                    "in_flight", \.replay.inFlight, .integer(1...512), default: "half of in_flight",
                    "the most batches in flight of a replay or of retried dead letters; never more than half of"
                        + " in_flight"),
                Field(
                    "events_per_second", \.replay.eventsPerSecond, .integer(1...100_000_000),
                    default: "what live delivery leaves free",
                    "the most events of a replay sent per second"),
            ]), "limits on replays"),
        Field("session", \.rules.session, .step("session"), "how sessions are sent; runs before transforms"),
        Field("timed", \.rules.timed, .step("timed"), "how timed events are sent; runs before transforms"),
        Field(
            "preset", \.preset, .word("the name of a preset"), default: "none",
            "a service that Penstock knows: penstock presets list"),
    ]

    private static let own: [DestinationKind: [Field<DestinationDraft>]] = [
        .file: file,
        .http: http,
        .plugin: [
            Field("plugin", \.plugin, .pluginName, required: true, "name of a sink plugin: NAME.so or libNAME.so"),
            Field("isolation", \.isolation, .isolation, "whether the plugin runs in its own process"),
            Field("settings", \.settings, .settings, "the plugin's settings, passed to it as JSON"),
            Field("deadline", \.deadline, .duration(.milliseconds(10)...days(1)), "the longest time for a batch"),
        ],
    ]

    static func destination(_ kind: DestinationKind) -> Section { Section((own[kind] ?? []) + common) }

    /// For a destination whose kind is missing.
    static let kindless = Section(common)

    /// Explains a key that belongs to another kind of destination.
    static func elsewhere(_ key: String, from kind: DestinationKind?) -> String? {
        for other in DestinationKind.allCases where other != kind {
            guard (own[other] ?? []).contains(where: { $0.name == key }) else { continue }
            guard let kind else { return "\(quoted(key)) belongs to \(other.article) destination" }
            return "\(quoted(key)) belongs to \(other.article) destination; this is \(kind.article) destination"
        }
        return nil
    }
}

extension Kind where Value == [Located<DestinationDraft>] {
    static var destinations: Kind {
        var kind = readDestinations
        kind.type = .map(
            of: .variants(
                DestinationKind.allCases.map {
                    Variant(key: $0.rawValue, shared: Section.destination($0).describe(DestinationDraft()))
                } + PresetCatalogue.shipped.map(Variant.init)))
        return kind
    }

    private static var readDestinations: Kind {
        .named("destination", DestinationDraft(), keys: .kindless) { node in
            let keys = (node.entries ?? []).map(\.key)
            // Several kinds are an error of their own; the first one decides how the rest is read.
            let kind = keys.lazy.compactMap(DestinationKind.init(rawValue:)).first
            let section = kind.map(Section.destination) ?? .kindless
            return (
                section,
                { key in
                    DestinationKind(rawValue: key) != nil
                        ? "a destination has only one of file, http, plugin"
                        : Section.elsewhere(key, from: kind)
                }
            )
        }
    }
}
