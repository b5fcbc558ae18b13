import ConfigurationSyntax
import Platform
import Telemetry

/// The daemon's log. If standard error is systemd's journal, each entry has fields and a message id; otherwise it is a
/// line on standard error. Any thread.
struct DaemonLog: LogSink {
    /// The syslog identifier, which systemd uses for the lines of standard error, too.
    private static let identifier = "penstockd"
    /// How long the end of the program waits for a slow journald.
    private static let patience = Duration.seconds(2)

    private let lines: StandardErrorLog
    /// nil: standard error is not the journal.
    private let journald: JournaldLog?

    /// Starts the log's thread if standard error is the journal.
    init() {
        let lines = StandardErrorLog()
        self.lines = lines
        guard lines.isJournal else {
            journald = nil
            return
        }
        // Without a thread, the lines are written to standard error, which the journal takes, too.
        journald = try? JournaldLog(
            lost: { count in Self.fields(LogEntry(LogLinesLost(count: count))) },
            fallback: { fields in
                func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }
                let level = value("PRIORITY").flatMap { Int($0) }.flatMap(Level.init) ?? .info
                lines.write(value("MESSAGE") ?? "", priority: level.rawValue, name: "\(level)")
            })
    }

    func write(_ level: Level, _ line: String) { write(LogEntry(level, line)) }

    func write(_ entry: LogEntry) {
        guard let journald else {
            return lines.write(entry.message, priority: entry.level.rawValue, name: "\(entry.level)")
        }
        journald.write(Self.fields(entry))
    }

    /// Writes a diagnostic: its first line as an event, and the lines that show the place and a hint as lines.
    func write(_ diagnostic: Diagnostic) {
        let problem = ConfigurationProblem(diagnostic)
        write(LogEntry(problem))
        for line in problem.furtherLines { write(problem.level, line) }
    }

    /// Waits until every entry is written, but not long. At the end of the program.
    func finish() { journald?.finish(within: Self.patience) }

    private static func fields(_ entry: LogEntry) -> [JournaldLog.Field] {
        var fields = [
            JournaldLog.Field("MESSAGE", entry.message.withControlCharactersEscaped),
            JournaldLog.Field("PRIORITY", "\(entry.level.rawValue)"),
            JournaldLog.Field("SYSLOG_IDENTIFIER", identifier),
        ]
        if let id = entry.messageID { fields.append(JournaldLog.Field("MESSAGE_ID", id)) }
        if let event = entry.event { fields.append(JournaldLog.Field(LogField.Name.event.rawValue, event)) }
        for field in entry.fields {
            fields.append(JournaldLog.Field(field.name.rawValue, field.value.withControlCharactersEscaped))
        }
        return fields
    }
}

/// Entries were not written, because too many waited for journald.
struct LogLinesLost: NamedEvent {
    static let name = "log_lines_lost"
    static let messageID = "35f7dd015b645d24b96d4b1bffac26e1"
    let count: UInt64
    let level = Level.error
    var fields: [LogField] { [.count(count)] }
    var message: String {
        "\(Readable.counted(count, "log line")) \(count == 1 ? "is" : "are") lost: systemd-journald took no lines for a"
            + " while; see systemctl status systemd-journald"
    }
}

/// An error or warning of the configuration.
struct ConfigurationProblem: NamedEvent {
    static let name = "configuration_problem"
    static let messageID = "dcf05521a5ad5439a37fecc8096f7282"
    let level: Level
    let file: String
    let message: String
    /// The line of the file, a caret below the place, and a hint.
    let furtherLines: [String]
    var fields: [LogField] { [.file(file)] }

    init(_ diagnostic: Diagnostic) {
        let lines = diagnostic.description.split(separator: "\n").map(String.init)
        level = diagnostic.severity == .error ? .error : .warning
        file = diagnostic.place.file
        message = lines.first ?? ""
        furtherLines = Array(lines.dropFirst())
    }
}
