import Telemetry

// What a worker tells the operator. Reasons come from destinations, which keep secrets and event
// contents out of them.

struct DeliveryRetrying: NamedEvent {
    static let name = "delivery_retrying"
    var destination: String
    var reason: String
    var wait: Duration?
    var level: Level { .warning }
    var message: String {
        let when = wait.map { "tried again in \($0)" } ?? "tried again"
        return "destination \(destination): \(reason); \(when), its events wait in the journal"
    }
}

struct DeliveryHeld: NamedEvent {
    static let name = "delivery_held"
    var destination: String
    var reason: String
    var level: Level { .error }
    var message: String {
        "destination \(destination) is held: \(reason); its events are kept, and it goes on by itself once this is mended"
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
    var message: String { "destination \(destination): \(what): \(cause); tried again, its events wait in the journal" }
}

struct EventsDeadLettered: NamedEvent {
    static let name = "events_dead_lettered"
    var destination: String
    var count: Int
    var reason: String
    var level: Level { .warning }
    var message: String {
        "destination \(destination): \(count) event(s) refused for good (\(reason)); see: penstock dead-letters list \(destination)"
    }
}

struct ReplayDone: NamedEvent {
    static let name = "replay_done"
    var destination: String
    var id: String
    var progress: Replay.Progress
    var level: Level { .notice }
    var message: String {
        "destination \(destination): replay \(id) is done: \(progress.delivered) event(s) delivered, \(progress.filtered) filtered out,"
            + " \(progress.deadLettered) dead letter(s), \(progress.missing) not in the journal any more"
    }
}
