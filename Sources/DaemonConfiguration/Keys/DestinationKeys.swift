/// `destinations.NAME`: the common keys, and those of each kind.
extension Section where Target == DestinationDraft {
    static let common: [Field<DestinationDraft>] = [
        Field("start", \.start, .start, "where a new destination starts in the journal: now, earliest or a time"),
        Field("where", \.rules.condition, .filter, "only events that match this filter"),
        Field("transforms", \.rules.transforms, .transforms, "transforms that run after those of the route"),
        Field(
            "mapping", \.mapping, .mapping,
            "the data that the destination receives in place of the event: values, paths, directives"),
        Field(
            "max_event_size", \.maximumEventSize, .size((1 << 10)...(64 << 20)),
            "the maximum size of an event after its mapping; also the maximum number of bytes that transforms may add"
                + " to an event"),
        Field(
            "batch",
            keys: Section([
                Field(
                    "events", \.batchEvents, .integer(1...100_000), default: "by kind",
                    "the maximum number of events in a batch"),
                Field(
                    "bytes", \.batchBytes, .size((1 << 10)...(64 << 20)), default: "1MiB",
                    "the maximum size of a batch"),
                Field(
                    "wait", \.batchWait, .duration(.zero...days(1)), default: "by kind",
                    "how long the first event of a batch waits for further events"),
            ]), "the limits of a batch"),
        Field(
            "in_flight", \.inFlight, .inFlight(1...1_024), default: "by kind",
            "the maximum number of batches in flight; with { minimum: , maximum: }, the limit adapts to the speed of"
                + " the service"),
        Field(
            "rate_limit",
            keys: Section([
                Field(
                    "events_per_second", \.rateLimit.eventsPerSecond, .integer(1...100_000_000), default: "unlimited",
                    "the maximum number of events sent per second"),
                Field(
                    "requests_per_second", \.rateLimit.requestsPerSecond, .integer(1...1_000_000), default: "unlimited",
                    "the maximum number of requests, or of batches, sent per second"),
                Field(
                    "burst", \.rateLimit.burst, .integer(1...100_000_000), default: "events_per_second",
                    "the maximum number of events sent at once after a pause"),
                Field(
                    "per", \.rateLimit.per, .choice,
                    "what the limit applies to: all events of the destination, or the events of each user"),
            ]), "the limits on the rate of delivery"),
        Field(
            "retry",
            keys: Section([
                Field(
                    "initial", \.retry.initial, .duration(.milliseconds(1)...days(1)),
                    "the wait before the first retry"),
                Field(
                    "max", \.retry.max, .duration(.milliseconds(1)...days(1)), "the maximum wait between two attempts"),
                Field(
                    "give_up_after", \.retry.giveUpAfter, .duration(.seconds(1)...days(3_650)), default: "never",
                    "the time after which undelivered events become dead letters"),
                Field(
                    "attempts", \.retry.attempts, .integer(1...1_000_000), default: "unlimited",
                    "the number of failed requests after which an event becomes a dead letter; a request counts if it"
                        + " gets no answer, or an answer that asks for a retry; a request that is too large, or is"
                        + " rejected for its credential, does not count; the count starts again with a replay, a"
                        + " retry of dead letters, a reload that changes the destination, and a restart"),
            ]), "the rules for retrying a failed delivery"),
        Field(
            "dead_letters",
            keys: Section([
                Field(
                    "size", \.deadLetters.size, .size((64 << 10)...(1 << 50)),
                    "the maximum size of the destination's dead letters"),
                Field(
                    "time", \.deadLetters.time, .duration(.seconds(3_600)...days(3_650)),
                    "the maximum age of a dead letter"),
                Field(
                    "when_full", \.deadLetters.whenFull, .choice,
                    "what happens at this size: the destination is held until dead letters are retried or dropped, or"
                        + " the oldest dead letters are dropped"),
            ]), "the events that the destination rejected"),
        Field(
            "replay",
            keys: Section([
                Field(
                    "in_flight", \.replay.inFlight, .integer(1...512), default: "half of in_flight",
                    "the maximum number of batches in flight for a replay or for retried dead letters; at most half of"
                        + " in_flight"),
                Field(
                    "events_per_second", \.replay.eventsPerSecond, .integer(1...100_000_000),
                    default: "what live delivery leaves free",
                    "the maximum number of replayed events sent per second"),
            ]), "the limits of replays"),
        Field("session", \.rules.session, .step("session"), "how sessions are sent; applied before transforms"),
        Field("timed", \.rules.timed, .step("timed"), "how timed events are sent; applied before transforms"),
        Field(
            "preset", \.preset, .word("the name of a preset"), default: "none",
            "the preset to use; penstock presets list shows all presets"),
    ]

    private static let own: [DestinationKind: [Field<DestinationDraft>]] = [
        .file: file,
        .http: http,
        .plugin: plugin("a sink plugin", deadline: "a batch") + [
            Field(
                "isolation", \.isolation, .choice,
                "where the plugin runs: in a separate process, so that it cannot harm the daemon; or in the daemon"
                    + " (none), where limits have no effect"
            )
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
        kind.describe {
            .map(
                of: .variants(
                    DestinationKind.allCases.map {
                        Variant(key: $0.rawValue, shared: Section.destination($0).describe(DestinationDraft()))
                    } + PresetCatalogue.shipped.map(Variant.init)))
        }
        return kind
    }

    private static var readDestinations: Kind {
        .named("destination", DestinationDraft(), keys: .kindless) { node in
            let keys = (node.entries ?? []).map(\.key)
            // Several kinds are a separate error; the first one decides how the rest is read.
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
