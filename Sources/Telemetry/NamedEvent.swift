/// How much somebody should care. The raw values are syslog's, which systemd's journal reads
/// from a line's `<N>` prefix (sd-daemon(3)).
package enum Level: Int, Sendable, Comparable, CaseIterable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// Ordered by severity: `.debug < .error`.
    package static func < (a: Level, b: Level) -> Bool { a.rawValue > b.rawValue }
}

/// Something that happened, said once: one value is the log line and the metric at once.
///
/// A type for each thing that can happen keeps its name, level and wording in one place, and
/// the daemon's counters are the list of the types that were emitted.
package protocol NamedEvent: Sendable {
    /// snake_case, unique in the program; also the counter's name.
    static var name: String { get }
    var level: Level { get }
    /// One sentence for an operator: what happened, to what, and what to do if anything is
    /// to be done. Never a secret, never more of an event than its message id.
    var message: String { get }
}
