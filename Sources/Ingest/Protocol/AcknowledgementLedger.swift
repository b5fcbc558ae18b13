/// Tracks which lines of one client are settled: durable or refused. Pure.
///
/// Lines are counted from 1, after the control line. Events are queued in the journal in groups. A group is settled
/// when the journal's durable end reaches the group's end. Groups become durable in the order in which they were
/// queued, so a single line number describes the progress. The end of a group that repeats earlier events may be lower
/// than that of the group before it; it is then settled together with that group.
struct AcknowledgementLedger {
    private struct Group {
        var lastLine: UInt64
        var end: UInt64
    }

    private var groups: [Group] = []
    private var firstGroup = 0
    /// Lines added so far.
    private(set) var lines: UInt64 = 0
    private var settled: UInt64 = 0
    private(set) var acknowledged: UInt64 = 0
    /// The highest durable position so far.
    private var durableEnd: UInt64 = 0

    init() {}

    /// Goes on after a restart.
    /// - Parameters:
    ///   - lines: they are settled.
    ///   - acknowledged: how many of them are acknowledged.
    init(lines: UInt64, acknowledged: UInt64) {
        self.lines = lines
        settled = lines
        self.acknowledged = min(lines, acknowledged)
    }

    /// Adds `count` lines. If any of them was accepted, their events are durable at `end`.
    mutating func add(lines count: Int, queuedUpTo end: UInt64?) {
        guard count > 0 else { return }
        lines += UInt64(count)
        if let end, end > durableEnd {
            groups.append(Group(lastLine: lines, end: max(end, awaitedEnd ?? 0)))
        } else if firstGroup < groups.count {
            // These lines need no disk write, but an acknowledgement covers all lines before them too. They are settled
            // together with the group before them.
            groups[groups.count - 1].lastLine = lines
        } else {
            settled = lines
        }
    }

    /// Records that the journal is durable up to `position` (exclusive).
    mutating func durable(upTo position: UInt64) {
        durableEnd = max(durableEnd, position)
        while firstGroup < groups.count, groups[firstGroup].end <= position {
            settled = groups[firstGroup].lastLine
            firstGroup += 1
        }
        if firstGroup == groups.count {
            groups.removeAll(keepingCapacity: true)
            firstGroup = 0
        } else if firstGroup >= 64 {
            groups.removeFirst(firstGroup)
            firstGroup = 0
        }
    }

    /// Whether any line still waits for the disk.
    var waits: Bool { firstGroup < groups.count }

    /// The journal position at which all lines are settled; nil if they are settled already.
    var awaitedEnd: UInt64? { waits ? groups[groups.count - 1].end : nil }

    /// The line number to acknowledge; nil if it has not grown since the last call.
    mutating func takeAcknowledgement() -> UInt64? {
        guard settled > acknowledged else { return nil }
        acknowledged = settled
        return settled
    }
}
