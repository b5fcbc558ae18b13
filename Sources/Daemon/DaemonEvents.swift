import Assembly
import Telemetry

struct Started: NamedEvent {
    static let name = "started"
    static let messageID = "a88f08b9a07e59e083ddc39734039523"
    let configuration: String
    let journal: String
    let level = Level.notice
    var fields: [LogField] { [.file(configuration)] }
    var message: String { "penstock \(Release.version) serves \(configuration), journal \(journal)" }
}

struct Stopped: NamedEvent {
    static let name = "stopped"
    static let messageID = "8eddaa404a67560884e225038665a837"
    let level = Level.notice
    var fields: [LogField] { [] }
    let message = "stopped; events that are not delivered yet stay in the journal"
}

struct Reloaded: NamedEvent {
    static let name = "reloaded"
    static let messageID = "b6c7600dfae454309cda186b61837562"
    let level = Level.notice
    var fields: [LogField] { [] }
    let message = "the new configuration is in effect"
}

struct ReloadRefused: NamedEvent {
    static let name = "reload_refused"
    static let messageID = "1c7591be1a0e56919e1c5508de58cb36"
    let level = Level.error
    var fields: [LogField] { [] }
    let message = "the new configuration was refused for the reasons above; the previous one stays in effect"
}

struct LimitNotRaised: NamedEvent {
    static let name = "limit_not_raised"
    static let messageID = "d547794ac2d552e0b26d8e4854b1d7bc"
    let detail: String
    let level = Level.warning
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "cannot raise the limit of open files, so fewer clients may connect: \(detail)" }
}

struct ConnectionsNotKept: NamedEvent {
    static let name = "connections_not_kept"
    static let messageID = "afe0702159db4ae1b751f4131c97dd6c"
    let detail: String
    let level = Level.warning
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "clients must connect again after the next restart or crash: \(detail)" }
}

struct SegmentsHeld: NamedEvent {
    static let name = "segments_held"
    static let messageID = "caa8f336dc845427bbcd2e2e9a74bbb2"
    let detail: String
    let level = Level.warning
    var fields: [LogField] { [.reason(detail)] }
    var message: String {
        "the journal keeps segments for removed destinations until the next reload or start: \(detail)"
    }
}

struct DestinationLeftBehind: NamedEvent {
    static let name = "destination_left_behind"
    static let messageID = "c6cf2f7835e256528f2577df745d879e"
    let name: String
    let level = Level.error
    var fields: [LogField] { [.destination(name)] }
    var message: String {
        "destination \(name) hangs in a call (disk, plugin or script), and the daemon no longer waits for it; "
            + "a destination of the same name starts when that call returns"
    }
}

struct SourceNotStarted: NamedEvent {
    static let name = "source_not_started"
    static let messageID = "97a4ad07df15565ba2c38aee0b1a2565"
    let name: String
    let detail: String
    let level = Level.error
    var fields: [LogField] { [.source(name), .reason(detail)] }
    var message: String { "source \(name) is not started: \(detail); free threads or raise TasksMax=, then reload" }
}

struct ReplayEnded: NamedEvent {
    static let name = "replay_ended"
    static let messageID = "7dbe47d7a5b353e1ae50d3db547d4ca2"
    let destination: String
    let level = Level.warning
    var fields: [LogField] { [.destination(destination)] }
    var message: String { "the replay to destination \(destination) was cancelled: the configuration no longer has it" }
}

struct DeadLettersNotExpired: NamedEvent {
    static let name = "dead_letters_not_expired"
    static let messageID = "7fe62cea05355f05a37bc326be5245f5"
    let detail: String
    let level = Level.warning
    var fields: [LogField] { [.reason(detail)] }
    var message: String { "cannot remove expired dead letters; the daemon tries again: \(detail)" }
}
