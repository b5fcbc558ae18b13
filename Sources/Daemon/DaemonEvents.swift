import Telemetry

struct Started: NamedEvent {
    static let name = "started"
    let configuration: String
    let journal: String
    let level = Level.notice
    var message: String { "penstock \(Daemon.version) serves \(configuration), journal \(journal)" }
}

struct Stopped: NamedEvent {
    static let name = "stopped"
    let level = Level.notice
    let message = "stopped; whatever is not delivered waits in the journal"
}

struct Reloaded: NamedEvent {
    static let name = "reloaded"
    let level = Level.notice
    let message = "the new configuration serves"
}

struct ReloadRefused: NamedEvent {
    static let name = "reload_refused"
    let level = Level.error
    let message = "the new configuration was refused for the reasons above; the one that was running runs on"
}

struct LimitNotRaised: NamedEvent {
    static let name = "limit_not_raised"
    let detail: String
    let level = Level.warning
    var message: String { "the limit of open files stays as it is: \(detail)" }
}

struct SegmentsHeld: NamedEvent {
    static let name = "segments_held"
    let detail: String
    let level = Level.warning
    var message: String {
        "the journal keeps segments for destinations that are gone, until the next reload or start: \(detail)"
    }
}

struct DestinationLeftBehind: NamedEvent {
    static let name = "destination_left_behind"
    let name: String
    let level = Level.error
    var message: String {
        "destination \(name) does not come back from a call (a disk, a plugin, a script) and is left behind; what has its name now starts when that call returns"
    }
}

struct ReplayEnded: NamedEvent {
    static let name = "replay_ended"
    let destination: String
    let level = Level.warning
    var message: String { "the replay to destination \(destination) has ended with it: the configuration does not have it any more" }
}

struct DeadLettersNotExpired: NamedEvent {
    static let name = "dead_letters_not_expired"
    let detail: String
    let level = Level.warning
    var message: String { "old dead letters could not be removed, and are tried again: \(detail)" }
}
