import Platform
import Telemetry

// Events that a worker reports to the operator. Reasons come from destinations, which keep secrets and event contents
// out of them.

struct DeliveryRetrying: NamedEvent {
    static let name = "delivery_retrying"
    var destination: String
    var reason: String
    var wait: Duration?
    var level: Level { .warning }
    var message: String {
        let when = wait.map { "retrying in \(Readable.duration($0))" } ?? "retrying"
        return "destination \(destination): \(reason); \(when); events wait in the journal"
    }
}

struct DeliveryHeld: NamedEvent {
    static let name = "delivery_held"
    var destination: String
    var reason: String
    var level: Level { .error }
    var message: String {
        "destination \(destination) is held: \(reason); events wait in the journal; delivery resumes once this is fixed"
    }
}

struct DeliveryRecovered: NamedEvent {
    static let name = "delivery_recovered"
    var destination: String
    var level: Level { .notice }
    var message: String { "destination \(destination) is up again" }
}

struct DeliveryFailing: NamedEvent {
    static let name = "delivery_failing"
    var destination: String
    var what: String
    var cause: String
    var level: Level { .error }
    var message: String { "destination \(destination): \(what): \(cause); retrying; events wait in the journal" }
}

struct EventsDeadLettered: NamedEvent {
    static let name = "events_dead_lettered"
    var destination: String
    var count: Int
    var reason: String
    var level: Level { .warning }
    var message: String {
        "destination \(destination): \(count) \(count == 1 ? "event" : "events") rejected (\(reason));"
            + " see: penstock dead-letters list \(destination)"
    }
}

struct ReplayDone: NamedEvent {
    static let name = "replay_done"
    var destination: String
    var id: String
    var progress: Replay.Progress
    var level: Level { .notice }
    var message: String {
        "destination \(destination): replay \(id) is done: \(progress.delivered) delivered,"
            + " \(progress.filtered) filtered out, \(progress.deadLettered) dead-lettered,"
            + " \(progress.missing) no longer in the journal"
    }
}
