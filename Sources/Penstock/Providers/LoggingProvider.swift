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
#endif

/// Writes a line for each event into the log: on Apple's platforms the system's, elsewhere standard error.
///
/// ```
/// penstock info track "Order Completed" user="…" properties={"orderID":"…","total":"…"}
/// ```
///
/// For development, and to see what a release records. It writes in the thread that records, so it is not for
/// thousands of events a second.
public struct LoggingProvider: AnalyticsProvider {
    /// How important the lines are; `OSLogType` on Apple's platforms, else a word in the line and, under
    /// systemd, the journal's priority.
    public enum Level: String, Sendable, Hashable, CaseIterable {
        /// For whoever develops the application; priority 7 of syslog(3).
        case debug
        /// For whoever wants to know; priority 6.
        case info
        /// Normal, and worth a look; priority 5.
        case notice
        /// As important as a failure; priority 3.
        case error

        /// As syslog(3) numbers them.
        var priority: Int {
            switch self {
            case .debug: 7
            case .info: 6
            case .notice: 5
            case .error: 3
            }
        }
    }

    /// How important its lines are.
    public let level: Level
    /// Whether what may be about a person is left out: ids, and the values of properties and traits.
    /// Their names stay.
    public let redacts: Bool
    private let write: @Sendable (String) -> Void

    /// - Parameters:
    ///   - level: how important its lines are.
    ///   - redacts: whether what may be about a person is left out.
    public init(level: Level = .info, redacts: Bool = true) {
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
            // What is private has been redacted already.
            write = { logger.log(level: type, "\($0, privacy: .public)") }
        #else
            let isJournal = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] != nil
            let prefix = (isJournal ? "<\(level.priority)>" : "") + "penstock \(level.rawValue) "
            write = { line in
                var line = prefix + line + "\n"
                // One system call, so that lines of several threads do not mix.
                line.withUTF8 { text in _ = unsafe Self.writeToStandardError(text.baseAddress, text.count) }
            }
        #endif
    }

    /// - Parameter write: takes the lines instead of the log.
    init(level: Level = .info, redacts: Bool, write: @escaping @Sendable (String) -> Void) {
        self.level = level
        self.redacts = redacts
        self.write = write
    }

    public func record(_ event: RecordedEvent) { write(line(for: event)) }

    /// Values are JSON, so that no event can forge a line.
    private func line(for event: RecordedEvent) -> String {
        var line = event.kind.rawValue
        if !event.name.isEmpty { line += " \(PropertyValue.string(event.name))" }
        let ids = [("user", event.userID), ("anonymous", event.anonymousID), ("group", event.groupID), ("previous", event.previousID)]
        for (name, id) in ids {
            if let id { line += " \(name)=\(shown(.string(id)))" }
        }
        if let timing = event.timing { line += timing.seconds.map { " stopped=\($0)s" } ?? " started" }
        if !event.properties.isEmpty { line += " properties=\(shown(.object(event.properties)))" }
        if !event.traits.isEmpty { line += " traits=\(shown(.object(event.traits)))" }
        return line
    }

    private func shown(_ value: PropertyValue) -> PropertyValue {
        guard redacts else { return value }
        return switch value {
        case .object(let members): .object(members.mapValues(shown))
        default: "…"
        }
    }

    #if !canImport(os)
        private static func writeToStandardError(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
            #if canImport(Glibc)
                unsafe Glibc.write(STDERR_FILENO, bytes, count)
            #else
                unsafe Musl.write(STDERR_FILENO, bytes, count)
            #endif
        }
    #endif
}
