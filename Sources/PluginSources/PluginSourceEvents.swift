import Platform
import Telemetry

/// A source's plugin has started to offer events.
struct PluginSourceStarted: NamedEvent {
    static let name = "plugin_source_started"
    var level: Level { .info }
    var source: String
    var plugin: String
    var positions: Int
    var message: String {
        "\(source): the plugin \(plugin) started with \(positions) stored \(positions == 1 ? "position" : "positions")"
    }
}

/// A source's plugin ended, or could not be started.
struct PluginSourceFailed: NamedEvent {
    static let name = "plugin_source_failed"
    var level: Level { .warning }
    var source: String
    var reason: String
    var pause: Duration
    var message: String { "\(source): \(reason); it is tried again in \(Readable.duration(pause))" }
}

/// A source's plugin reports what keeps it from working, or that it works again.
struct PluginSourceProblem: NamedEvent {
    static let name = "plugin_source_problem"
    var level: Level { problem == nil ? .info : .warning }
    var source: String
    var problem: String?
    var message: String {
        problem.map { "\(source): the plugin reports a problem: \($0)" } ?? "\(source): the plugin works again"
    }
}

/// The journal does not take a source's events now, or takes them again.
struct PluginSourceWaits: NamedEvent {
    static let name = "plugin_source_waits"
    var level: Level { reason == nil ? .info : .warning }
    var source: String
    var reason: String?
    var message: String {
        reason.map { "\(source): events wait for the journal, and none is lost: \($0)" }
            ?? "\(source): the journal takes events again"
    }
}
