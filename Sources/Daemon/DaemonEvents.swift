import Assembly
import Telemetry

struct Started: NamedEvent {
    static let name = "started"
    let configuration: String
    let journal: String
    let level = Level.notice
    var message: String { "penstock \(Release.version) serves \(configuration), journal \(journal)" }
}

struct Stopped: NamedEvent {
    static let name = "stopped"
    let level = Level.notice
    let message = "stopped; events that are not delivered yet stay in the journal"
}

struct Reloaded: NamedEvent {
    static let name = "reloaded"
    let level = Level.notice
    let message = "the new configuration is in effect"
}

struct ReloadRefused: NamedEvent {
    static let name = "reload_refused"
    let level = Level.error
    let message = "the new configuration was refused for the reasons above; the previous one stays in effect"
}

struct LimitNotRaised: NamedEvent {
    static let name = "limit_not_raised"
    let detail: String
    let level = Level.warning
    var message: String { "cannot raise the limit of open files, so fewer clients may connect: \(detail)" }
}

struct ConnectionsNotKept: NamedEvent {
    static let name = "connections_not_kept"
    let detail: String
    let level = Level.warning
    var message: String { "clients must connect again after the next restart or crash: \(detail)" }
}

struct SegmentsHeld: NamedEvent {
    static let name = "segments_held"
    let detail: String
    let level = Level.warning
    var message: String {
        "the journal keeps segments for removed destinations until the next reload or start: \(detail)"
    }
}

struct DestinationLeftBehind: NamedEvent {
    static let name = "destination_left_behind"
    let name: String
    let level = Level.error
    var message: String {
        "destination \(name) hangs in a call (disk, plugin or script), and the daemon no longer waits for it; "
            + "a destination of the same name starts when that call returns"
    }
}

struct SourceNotStarted: NamedEvent {
    static let name = "source_not_started"
    let name: String
    let detail: String
    let level = Level.error
    var message: String { "source \(name) is not started: \(detail); free threads or raise TasksMax=, then reload" }
}

struct ReplayEnded: NamedEvent {
    static let name = "replay_ended"
    let destination: String
    let level = Level.warning
    var message: String { "the replay to destination \(destination) was cancelled: the configuration no longer has it" }
}

struct DeadLettersNotExpired: NamedEvent {
    static let name = "dead_letters_not_expired"
    let detail: String
    let level = Level.warning
    var message: String { "cannot remove expired dead letters; the daemon tries again: \(detail)" }
}
