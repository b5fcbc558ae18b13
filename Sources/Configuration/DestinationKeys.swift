/// `destinations.NAME`: the keys that all have, and those of each kind.
extension Section where Target == DestinationDraft {
    static let common: [Field<DestinationDraft>] = [
        Field("start", \.start, .start, "where a destination begins when it first appears: now, earliest or a time"),
        Field("where", \.rules.condition, .filter, "only events that this filter lets through"),
        Field("transforms", \.rules.transforms, .transforms, "what is changed, after the route's transforms"),
        Field(
            "mapping", \.mapping, .mapping, "what the destination gets in place of the event: values, paths, directives"),
        Field(
            "max_event_size", \.maximumEventSize, .size((1 << 10)...(64 << 20)),
            "bytes that an event may have after its mapping, and that transforms may add to it"),
        Field(
            "batch",
            keys: Section([
                Field(
                    "events", \.batchEvents, .integer(1...100_000), default: "by kind",
                    "events that are handed over at once"),
                Field(
                    "bytes", \.batchBytes, .size((1 << 10)...(64 << 20)), default: "1MiB",
                    "bytes that are handed over at once"),
                Field(
                    "wait", \.batchWait, .duration(.zero...days(1)), default: "by kind",
                    "how long the first event of a batch waits for others"),
            ]), "how many events are handed over at once"),
        Field(
            "in_flight", \.inFlight, .inFlight(1...1_024), default: "by kind",
            "batches that may be under way at once; between { minimum: , maximum: }, as many as the service bears"),
        Field(
            "rate_limit",
            keys: Section([
                Field(
                    "events_per_second", \.rateLimit.eventsPerSecond, .integer(1...100_000_000), default: "unlimited",
                    "events that are sent in a second"),
                Field(
                    "requests_per_second", \.rateLimit.requestsPerSecond, .integer(1...1_000_000), default: "unlimited",
                    "requests, or batches, that are sent in a second"),
                Field(
                    "burst", \.rateLimit.burst, .integer(1...100_000_000), default: "events_per_second",
                    "events that may be sent at once after a pause"),
                Field("per", \.rateLimit.per, .choice, "whose events are counted: the destination's, or each user's"),
            ]), "how fast the destination may be served"),
        Field(
            "retry",
            keys: Section([
                Field(
                    "initial", \.retry.initial, .duration(.milliseconds(1)...days(1)),
                    "wait before the first repetition"),
                Field("max", \.retry.max, .duration(.milliseconds(1)...days(1)), "longest wait between two"),
                Field(
                    "give_up_after", \.retry.giveUpAfter, .duration(.seconds(1)...days(3_650)), default: "never",
                    "after this long, events go to the dead letters"),
                Field(
                    "attempts", \.retry.attempts, .integer(1...1_000_000), default: "unlimited",
                    "requests that are tried for an event before it goes to the dead letters: those that got no answer or one that asks"
                        + " for another try, whatever batch the event was in; a request that was too large, or refused for its"
                        + " credential, does not count; a replay, a retry of dead letters, a reload that changes the destination and a"
                        + " restart count anew"),
            ]), "when a delivery that failed is tried again"),
        Field(
            "dead_letters",
            keys: Section([
                Field("size", \.deadLetters.size, .size((64 << 10)...(1 << 50)), "bytes that refused events may take"),
                Field("time", \.deadLetters.time, .duration(.seconds(3_600)...days(3_650)), "how long they are kept"),
                Field(
                    "when_full", \.deadLetters.whenFull, .choice,
                    "what happens at this size: the destination is held until some are retried or dropped, or the oldest go"),
            ]), "events that the destination refused for good"),
        Field(
            "replay",
            keys: Section([
                Field(
                    "in_flight", \.replay.inFlight, .integer(1...512), default: "half of in_flight",
                    "batches of a replay, or of retried dead letters, that may be under way at once, and never more than half"),
                Field(
                    "events_per_second", \.replay.eventsPerSecond, .integer(1...100_000_000), default: "what live delivery leaves",
                    "events of a replay that are sent in a second"),
            ]), "how much of the destination a replay may take"),
        Field("session", \.rules.session, .step("session"), "what becomes of sessions, before transforms"),
        Field("timed", \.rules.timed, .step("timed"), "what becomes of timed events, before transforms"),
        Field("preset", \.preset, .word("the name of a preset"), default: "none", "a service that Penstock knows: penstock presets list"),
    ]

    private static let own: [DestinationKind: [Field<DestinationDraft>]] = [
        .file: file,
        .http: http,
        .plugin: [
            Field("plugin", \.plugin, .pluginName, required: true, "name of a sink plugin: NAME.so or libNAME.so"),
            Field("isolation", \.isolation, .isolation, "where the plugin runs"),
            Field("settings", \.settings, .settings, "what the plugin is given, as JSON"),
            Field("deadline", \.deadline, .duration(.milliseconds(10)...days(1)), "how long a batch may take"),
        ],
    ]

    static func destination(_ kind: DestinationKind) -> Section { Section((own[kind] ?? []) + common) }

    /// For one that does not say what it is.
    static let kindless = Section(common)

    /// Why a key that is not one of a destination's may still look right.
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
            // Of several kinds, which is an error of its own, the first decides about the rest.
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
