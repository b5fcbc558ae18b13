import Platform
import Telemetry

/// A source's plugin has started to offer events.
struct PluginSourceStarted: NamedEvent {
    static let name = "plugin_source_started"
    static let messageID = "a9e58469b57c53bb889729e79555245c"
    var level: Level { .info }
    var source: String
    var plugin: String
    var positions: Int
    var fields: [LogField] { [.source(source), .plugin(plugin), .count(positions)] }
    var message: String {
        "\(source): the plugin \(plugin) started with \(positions) stored \(positions == 1 ? "position" : "positions")"
    }
}

/// A source's plugin ended, or could not be started.
struct PluginSourceFailed: NamedEvent {
    static let name = "plugin_source_failed"
    static let messageID = "5d537ad95c615e648d59d3e27efee69d"
    var level: Level { .warning }
    var source: String
    var reason: String
    var pause: Duration
    var fields: [LogField] { [.source(source), .reason(reason)] }
    var message: String { "\(source): \(reason); it is tried again in \(Readable.duration(pause))" }
}

/// A source's plugin reports what keeps it from working, or that it works again.
struct PluginSourceProblem: NamedEvent {
    static let name = "plugin_source_problem"
    static let messageID = "8c3a1f1e1aa559b69ec2d371d653d45f"
    var level: Level { problem == nil ? .info : .warning }
    var source: String
    var problem: String?
    var fields: [LogField] { [.source(source)] + (problem.map { [.reason($0)] } ?? []) }
    var message: String {
        problem.map { "\(source): the plugin reports a problem: \($0)" } ?? "\(source): the plugin works again"
    }
}

/// The journal does not take a source's events now, or takes them again.
struct PluginSourceWaits: NamedEvent {
    static let name = "plugin_source_waits"
    static let messageID = "3aacc99dd8f35351bec47e911f60cd57"
    var level: Level { reason == nil ? .info : .warning }
    var source: String
    var reason: String?
    var fields: [LogField] { [.source(source)] + (reason.map { [.reason($0)] } ?? []) }
    var message: String {
        reason.map { "\(source): events wait for the journal, and none is lost: \($0)" }
            ?? "\(source): the journal takes events again"
    }
}
