/// Which lines of one client are settled: on disk, or refused. Pure.
///
/// Lines count from 1, after the control line. Events are queued in the journal in groups; a group
/// is settled when the journal's durable end has reached the group's. Groups become durable in
/// the order in which they were queued, so one number says it all.
struct AcknowledgementLedger {
    private struct Group {
        var lastLine: UInt64
        var end: UInt64
    }

    private var groups: [Group] = []
    private var firstGroup = 0
    /// Lines seen so far.
    private(set) var lines: UInt64 = 0
    private var settled: UInt64 = 0
    private var told: UInt64 = 0

    /// Notes `count` lines, whose events (if any was accepted) are durable at `end`.
    mutating func add(lines count: Int, queuedUpTo end: UInt64?) {
        guard count > 0 else { return }
        lines += UInt64(count)
        if let end {
            groups.append(Group(lastLine: lines, end: end))
        } else if firstGroup < groups.count {
            // Nothing of these lines has to reach the disk, but an acknowledgement covers all
            // lines before it, too: they are settled together with the group ahead of them.
            groups[groups.count - 1].lastLine = lines
        } else {
            settled = lines
        }
    }

    /// Notes that the journal is durable up to (not including) `position`.
    mutating func durable(upTo position: UInt64) {
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

    /// Whether a line still waits for the disk.
    var waits: Bool { firstGroup < groups.count }

    /// The journal position at which all lines are settled; nil: they are.
    var awaitedEnd: UInt64? { waits ? groups[groups.count - 1].end : nil }

    /// The number to acknowledge, if it has grown since it was last asked for.
    mutating func takeAcknowledgement() -> UInt64? {
        guard settled > told else { return nil }
        told = settled
        return settled
    }
}
