/// How many lines of one type of event about one subject are logged per interval. Further events are only counted. When
/// the interval is over, one line says how many lines were left out.
package struct LineLimit: Sendable, Equatable {
    /// At least 1: the first line of its kind is always logged.
    package var lines: Int
    /// In nanoseconds.
    package var interval: Int64

    package static let usual = LineLimit(lines: 20, seconds: 10)
    /// For events that clients can cause as often as they like.
    package static let once = LineLimit(lines: 1, seconds: 10)

    package init(lines: Int, seconds: Int64) {
        precondition(lines > 0 && seconds > 0, "the first line is logged, and the interval ends")
        self.lines = lines
        interval = seconds * 1_000_000_000
    }
}

/// The lines of one type of event about one subject in the current interval. Pure: the caller gives the time.
struct LineWindow {
    private let limit: LineLimit
    private var start: Int64
    private var logged = 0
    private var leftOut: UInt64 = 0
    private var affected: UInt64 = 0
    private var worst = Level.debug
    /// The last line that was logged.
    private var last: LogEntry?

    init(_ limit: LineLimit, at now: Int64) {
        self.limit = limit
        start = now
    }

    /// Whether a line may be logged.
    enum Admission {
        case logged
        /// It is the last line of this interval: pass it to `keep`.
        case last
        case leftOut
    }

    mutating func admit(_ level: Level, affected events: UInt64?, at now: Int64) -> Admission {
        if isOver(at: now) {
            start = now
            logged = 0
        }
        guard logged < limit.lines else {
            leftOut &+= 1
            affected &+= events ?? 0
            worst = max(worst, level)
            return .leftOut
        }
        logged += 1
        return logged == limit.lines ? .last : .logged
    }

    mutating func keep(_ entry: LogEntry) { last = entry }

    func isOver(at now: Int64) -> Bool { now.subtractingReportingOverflow(start).partialValue >= limit.interval }

    /// Whether nothing remains to be reported.
    var isSettled: Bool { leftOut == 0 }

    /// The line that says how many lines were left out; nil: none was.
    mutating func takeSummary() -> LogEntry? {
        guard leftOut > 0 else { return nil }
        var entry = last ?? LogEntry(worst, "")
        entry.level = worst
        let events = affected == 0 ? "" : " (\(affected) event\(affected == 1 ? "" : "s"))"
        entry.message =
            "\(leftOut) more line\(leftOut == 1 ? " like this was" : "s like this were") left out in "
            + "\(limit.interval / 1_000_000_000) s\(events): \(entry.message)"
        entry.fields.removeAll { $0.name == .count }
        if affected > 0 { entry.fields.append(.count(affected)) }
        entry.fields.append(.leftOut(leftOut))
        leftOut = 0
        affected = 0
        worst = .debug
        last = nil
        return entry
    }
}
