#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(os)
    import os
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Logs a line for each event: to the system log on Apple's platforms, to standard error elsewhere.
///
/// ```
/// penstock info track "Order Completed" user="…" properties={"orderID":"…","total":"…"}
/// ```
///
/// Use it during development, or to see what a release records. It writes in the thread that records, so it is not
/// suitable for thousands of events per second.
public struct LoggingProvider: AnalyticsProvider {
    /// The log level: an `OSLogType` on Apple's platforms; elsewhere a word in the line and, under systemd, the
    /// priority of the journal entry.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// Debug messages; priority 7 of syslog(3).
        case debug
        /// Informational messages; priority 6.
        case info
        /// Normal but significant messages; priority 5.
        case notice
        /// Error messages; priority 3.
        case error

        /// The priority as numbered by syslog(3).
        var priority: Int {
            switch self {
            case .debug: 7
            case .info: 6
            case .notice: 5
            case .error: 3
            }
        }
    }

    /// The name by which the application disables or removes the provider.
    public let name: String
    /// The log level of the lines.
    public let level: Level
    /// A Boolean value that indicates whether personal data is left out: ids, and the values of properties and traits.
    /// The names of properties and traits stay.
    public let redacts: Bool
    private let write: @Sendable (String) -> Void

    /// Creates a provider that logs events.
    ///
    /// - Parameters:
    ///   - level: The log level of the lines.
    ///   - redacts: Whether to leave out ids and the values of properties and traits.
    ///   - name: The name by which the application disables or removes the provider.
    public init(level: Level = .info, redacts: Bool = true, name: String = "LoggingProvider") {
        self.name = name
        self.level = level
        self.redacts = redacts
        #if canImport(os)
            let logger = Logger(subsystem: "penstock", category: "analytics")
            let type: OSLogType =
                switch level {
                case .debug: .debug
                case .info: .info
                case .notice: .default
                case .error: .error
                }
            // Private data has already been redacted.
            write = { logger.log(level: type, "\($0, privacy: .public)") }
        #else
            let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil
            let prefix = (isJournal ? "<\(level.priority)>" : "") + "penstock \(level.rawValue) "
            write = { line in
                var line = prefix + line + "\n"
                // Write with one system call, so that lines of several threads do not mix.
                line.withUTF8 { text in _ = unsafe writeToStandardError(text.baseAddress, text.count) }
            }
        #endif
    }

    /// - Parameter write: Receives the lines instead of the log.
    init(level: Level = .info, redacts: Bool, write: @escaping @Sendable (String) -> Void) {
        name = "LoggingProvider"
        self.level = level
        self.redacts = redacts
        self.write = write
    }

    public func record(_ event: RecordedEvent) { write(line(for: event)) }

    /// Makes the line for an event. Values are written as JSON, so that an event cannot forge a line.
    private func line(for event: RecordedEvent) -> String {
        var line = event.kind.rawValue
        if !event.name.isEmpty { line += " \(PropertyValue.string(event.name))" }
        let ids = [
            ("user", event.userID), ("anonymous", event.anonymousID), ("group", event.groupID),
            ("previous", event.previousID),
        ]
        for (name, id) in ids {
            if let id { line += " \(name)=\(shown(.string(id)))" }
        }
        if let timing = event.timing { line += timing.seconds.map { " stopped=\($0)s" } ?? " started" }
        if !event.properties.isEmpty { line += " properties=\(shown(.dictionary(event.properties)))" }
        if !event.traits.isEmpty { line += " traits=\(shown(.dictionary(event.traits)))" }
        return line
    }

    private func shown(_ value: PropertyValue) -> PropertyValue {
        guard redacts else { return value }
        return switch value {
        case .dictionary(let members): .dictionary(members.mapValues(shown))
        default: "…"
        }
    }
}

#if !canImport(os)
    private func writeToStandardError(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
        unsafe write(STDERR_FILENO, bytes, count)
    }
#endif
