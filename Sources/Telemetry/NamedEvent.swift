/// A log level. The raw values are syslog's, which systemd's journal reads from a line's `<N>` prefix (sd-daemon(3)).
package enum Level: Int, Sendable, Comparable, CaseIterable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    /// Ordered by severity: `.debug < .error`.
    package static func < (a: Level, b: Level) -> Bool { a.rawValue > b.rawValue }
}

/// Something that happened. One value produces both the log line and the metric.
///
/// Each kind of event has its own type, which keeps its name, level and wording in one place. The daemon's counters are
/// keyed by these names.
package protocol NamedEvent: Sendable {
    /// snake_case, unique in the program. It is also the counter's name.
    static var name: String { get }
    var level: Level { get }
    /// One sentence for an operator: what happened, to what, and what to do if action is needed. Contains no secrets,
    /// and nothing of an analytics event except its message id.
    var message: String { get }
}
