import Platform

/// The line that shows how far a command has come: `[######........] 43 %  12,300 events, 4 s left`. Pure: the caller
/// gives the time and the width.
package struct ProgressText: Sendable {
    /// How often the line changes at most.
    package static let interval = Duration.milliseconds(100)
    private static let cells = 20

    private let label: String
    private let total: UInt64?
    private var drawn: Instant?
    private var speed = RecentRate()

    /// - Parameters:
    ///   - label: at the start of the line; empty: none.
    ///   - total: the amount of work, in the unit of `done`; nil: unknown, so there is no bar and no percentage.
    package init(label: String, total: UInt64?) {
        self.label = label
        self.total = total
    }

    /// The line to draw now.
    /// - Parameters:
    ///   - width: the columns of the terminal. The line leaves the last one free, so that it never wraps.
    ///   - note: what follows the bar. Called only if the line is drawn.
    /// - Returns: nil if the last line is newer than `interval`.
    package mutating func next(done: UInt64, at now: Instant, width: Int, note: () -> String) -> String? {
        if let drawn, now - drawn < Self.interval { return nil }
        drawn = now
        speed.add(done, at: now)
        var parts = label.isEmpty ? [] : [label]
        if let total, total > 0 { parts.append(bar(done, of: total)) }
        parts.append(([note()] + (left(done) ?? [])).filter { !$0.isEmpty }.joined(separator: ", "))
        let line = parts.filter { !$0.isEmpty }.joined(separator: "  ").withControlCharactersEscaped
        let room = max(width - 1, 1)
        return ScreenText.columns(of: line) > room ? ScreenText.fit(line, room) : line
    }

    /// The next call of `next` draws.
    package mutating func forget() { drawn = nil }

    private func bar(_ done: UInt64, of total: UInt64) -> String {
        let part = min(1, Double(done) / Double(total))
        let filled = Int(part * Double(Self.cells))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.cells - filled)
        return "[\(bar)] \(Int(part * 100)) %"
    }

    private func left(_ done: UInt64) -> [String]? {
        guard let total, done < total, let rate = speed.perSecond, rate > 0 else { return nil }
        return ["\(Readable.duration(Double(total - done) / rate)) left"]
    }
}

/// How fast a count grows: the average over the last seconds, so that it follows a change and does not flicker. Pure.
package struct RecentRate: Sendable {
    private static let window = Duration.seconds(5)
    /// Counts that are closer to each other are not kept.
    private static let distance = Duration.milliseconds(50)
    /// A shorter time says little about the rate.
    private static let shortest = Duration.milliseconds(300)

    private var counts: [(time: Instant, count: UInt64)] = []

    package init() {}

    package mutating func add(_ count: UInt64, at now: Instant) {
        if let last = counts.last, now - last.time < Self.distance { return }
        counts.append((now, count))
        // One count at or before the beginning of the window stays.
        while counts.count > 2, now - counts[1].time >= Self.window { counts.removeFirst() }
    }

    /// nil: too little time has passed.
    package var perSecond: Double? {
        guard let first = counts.first, let last = counts.last, last.time - first.time >= Self.shortest else {
            return nil
        }
        let growth = last.count > first.count ? last.count - first.count : 0
        return Double(growth) / (Double((last.time - first.time).inNanoseconds) / 1e9)
    }
}
