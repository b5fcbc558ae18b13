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
/// Each kind of event has its own type, which keeps its name, level, fields and wording in one place. The daemon's
/// counters are keyed by these names. Each type has an entry in `systemd/catalog/penstock.catalog`, found by its
/// `messageID`, and a row in the book's page Logs. A test compares them.
package protocol NamedEvent: Sendable {
    /// snake_case, unique in the program. It is also the counter's name.
    static var name: String { get }
    /// The MESSAGE_ID of its entries in systemd's journal: 32 hexadecimal digits, as `journalctl --new-id128` or
    /// `systemd-id128 new` prints them. Never changes, because operators filter by it.
    static var messageID: String { get }
    /// How many of its lines are logged.
    static var lineLimit: LineLimit { get }
    var level: Level { get }
    /// What the event is about, for filters: `journalctl PENSTOCK_DESTINATION=mixpanel`. Contains no secrets, and
    /// nothing of an analytics event.
    var fields: [LogField] { get }
    /// What the line limit counts by, beside the name: a flood about one subject hides no line about another.
    var subject: String { get }
    /// How many analytics events were lost or rejected. The sum is logged for lines that were left out.
    var affectedEvents: UInt64? { get }
    /// One sentence for an operator: what happened, to what, and what to do if action is needed. Contains no secrets,
    /// and nothing of an analytics event except its message id.
    var message: String { get }
}

extension NamedEvent {
    package static var lineLimit: LineLimit { .usual }
    /// The destination or source.
    package var subject: String {
        fields.first { $0.name == .destination || $0.name == .source }?.value ?? ""
    }
    package var affectedEvents: UInt64? { nil }
}
