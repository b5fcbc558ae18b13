import Platform
import Telemetry

// Events that a worker reports to the operator. Reasons come from destinations, which keep secrets and event contents
// out of them.

struct DeliveryRetrying: NamedEvent {
    static let name = "delivery_retrying"
    static let messageID = "64496d14dd515173b0a4ae3a60c9506f"
    var destination: String
    var reason: String
    var wait: Duration?
    var level: Level { .warning }
    var fields: [LogField] { [.destination(destination), .reason(reason)] }
    var message: String {
        let when = wait.map { "retrying in \(Readable.duration($0))" } ?? "retrying"
        return "destination \(destination): \(reason); \(when); events wait in the journal"
    }
}

struct DeliveryHeld: NamedEvent {
    static let name = "delivery_held"
    static let messageID = "55cf795a0cf85da8b38aad84144663b2"
    var destination: String
    var reason: String
    var level: Level { .error }
    var fields: [LogField] { [.destination(destination), .reason(reason)] }
    var message: String {
        "destination \(destination) is held: \(reason); events wait in the journal; delivery resumes once this is fixed"
    }
}

struct DeliveryRecovered: NamedEvent {
    static let name = "delivery_recovered"
    static let messageID = "098cc227e31b5564bde295fce57632e6"
    var destination: String
    var level: Level { .notice }
    var fields: [LogField] { [.destination(destination)] }
    var message: String { "destination \(destination) is up again" }
}

struct DeliveryFailing: NamedEvent {
    static let name = "delivery_failing"
    static let messageID = "e0f1a9d4d4bb54ef888db98f0f1db529"
    var destination: String
    var what: String
    var cause: String
    var level: Level { .error }
    var fields: [LogField] { [.destination(destination), .reason(cause)] }
    var message: String { "destination \(destination): \(what): \(cause); retrying; events wait in the journal" }
}

struct EventsDeadLettered: NamedEvent {
    static let name = "events_dead_lettered"
    static let messageID = "eec70542a9c255598196e2839e34f0cf"
    var destination: String
    var count: Int
    var reason: String
    var level: Level { .warning }
    var fields: [LogField] { [.destination(destination), .reason(reason), .count(count)] }
    var affectedEvents: UInt64? { UInt64(clamping: count) }
    var message: String {
        "destination \(destination): \(count) \(count == 1 ? "event" : "events") rejected (\(reason));"
            + " see: penstock dead-letters list \(destination)"
    }
}

struct ReplayDone: NamedEvent {
    static let name = "replay_done"
    static let messageID = "6bec73c6b95a59b38cbc75271fdde60e"
    var destination: String
    var id: String
    var progress: Replay.Progress
    var level: Level { .notice }
    var fields: [LogField] { [.destination(destination), .replay(id), .count(progress.delivered)] }
    var message: String {
        "destination \(destination): replay \(id) is done: \(progress.delivered) delivered,"
            + " \(progress.filtered) filtered out, \(progress.deadLettered) dead-lettered,"
            + " \(progress.missing) no longer in the journal"
    }
}
