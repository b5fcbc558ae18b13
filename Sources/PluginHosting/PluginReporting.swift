import CPenstockPlugin
import Platform
import Synchronization
import Telemetry

/// What a plugin reports, of whatever role: log lines and metrics. Any thread.
package final class PluginReporting: Sendable {
    /// The name of the destination or source that the plugin belongs to.
    package let owner: String
    private let field: LogField

    private let telemetry: Telemetry
    private let minimum: Level
    /// Whether what a plugin's process prints goes to this process's standard output, or nowhere.
    private let passesOutput: Bool
    private let ownMetrics = Mutex(PluginMetrics())

    /// - Parameters:
    ///   - name: what the owner is.
    ///   - minimum: the least severe level that is logged.
    package init(
        owner: String, as name: LogField.Name = .destination, telemetry: Telemetry, minimum: Level,
        passesOutput: Bool = true
    ) {
        self.owner = owner
        field = LogField(name, owner)
        self.telemetry = telemetry
        self.minimum = minimum
        self.passesOutput = passesOutput
    }

    package var metrics: PluginMetrics { ownMetrics.withLock { $0 } }

    package func emit(_ event: some NamedEvent) { telemetry.emit(event) }

    package func isLogged(_ level: Int32) -> Bool { Self.level(level) >= minimum }

    /// - Parameter level: of penstock_plugin.h. Any number.
    package func log(_ level: Int32, _ line: String) {
        // Replace control characters: a log entry stays one line and can't send commands to a terminal.
        let clean = String(
            String.UnicodeScalarView(line.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
        emit(PluginLogLine(level: Self.level(level), owner: field, text: clean))
    }

    func prints(_ bytes: [UInt8]) { if passesOutput { ChildProcess.copyToOutput(bytes) } }

    func writesError(_ line: String) { log(PENSTOCK_LOG_NOTICE, line) }

    package func add(_ amount: UInt64, to counter: String) {
        if !ownMetrics.withLock({ $0.add(amount, to: counter) }) {
            emit(PluginMetricRefused(owner: field, metric: counter))
        }
    }

    package func set(_ gauge: String, to value: Double) {
        if !ownMetrics.withLock({ $0.set(gauge, to: value) }) {
            emit(PluginMetricRefused(owner: field, metric: gauge))
        }
    }

    private static func level(_ number: Int32) -> Level {
        Level(rawValue: Int(min(max(number, PENSTOCK_LOG_ERROR), PENSTOCK_LOG_DEBUG))) ?? .info
    }
}

/// A log line from a plugin.
struct PluginLogLine: NamedEvent {
    static let name = "plugin_log_line"
    static let messageID = "808e564c0a9250f9a09a1843b6748479"
    var level: Level
    var owner: LogField
    var text: String
    var fields: [LogField] { [owner] }
    var message: String { "\(owner.value): \(text)" }
}

/// A plugin was loaded: at the start, after its process ended, or because its file was replaced.
package struct PluginLoaded: NamedEvent {
    package static let name = "plugin_loaded"
    package static let messageID = "3442ec8ee2eb56869260339ba1432afd"
    package var level: Level { .info }
    var owner: LogField
    var plugin: PluginDescription
    /// The build id of its file, in hexadecimal; nil: it has none.
    var build: String?

    /// - Parameter owner: the destination or source.
    package init(owner: LogField, plugin: PluginDescription, build: String?) {
        self.owner = owner
        self.plugin = plugin
        self.build = build
    }

    package var fields: [LogField] { [owner, .plugin(plugin.name), .file(plugin.path)] }
    package var message: String {
        let build = build.map { " (build \($0.prefix(12)))" } ?? ""
        return "\(owner.value): loaded the plugin \(plugin.name) \(plugin.version)\(build) from \(plugin.path)"
    }
}

/// A counter or gauge that was rejected.
struct PluginMetricRefused: NamedEvent {
    static let name = "plugin_metric_refused"
    static let messageID = "8c48aa47df3752df9163c5acb40f622f"
    var level: Level { .notice }
    var owner: LogField
    var metric: String
    var fields: [LogField] { [owner] }
    var message: String {
        """
        \(owner.value): the plugin's metric "\(metric)" is ignored: a name has at most \
        \(PluginMetrics.nameLimit) characters of a-z, 0-9 and '_', a gauge is a finite number, and a plugin \
        has at most \(PluginMetrics.limit) counters and \(PluginMetrics.limit) gauges
        """
    }
}
