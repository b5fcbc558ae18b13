import ConfigurationSyntax
import Platform
import Telemetry

extension StandardErrorLog: LogSink {
    package func write(_ level: Level, _ line: String) { write(line, priority: level.rawValue, name: "\(level)") }
}

extension LogSink {
    /// Writes each line of a diagnostic (message, source line, caret, hint) as a log line.
    func write(_ diagnostic: Diagnostic) {
        let level: Level = diagnostic.severity == .error ? .error : .warning
        for line in diagnostic.description.split(separator: "\n") { write(level, String(line)) }
    }
}
