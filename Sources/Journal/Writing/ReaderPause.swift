import Platform

/// A commit's wait for readers that would otherwise have to read it from the disk (`RecentCommits.wouldLap`).
///
/// Each reader needs a processor for a moment. With more of them than processors, the turn of some comes late; once
/// they read from the disk, they take even more of the others' time. So the wait is as many times as long as turns are
/// needed. It ends early when no reader has read anything for the time of one turn: then they do not wait for a
/// processor, but for their destinations.
struct ReaderPause {
    /// The longest wait, unless one turn is longer.
    static let longest = Duration.milliseconds(100)

    /// One turn.
    private let turn: Duration
    private let end: Instant
    /// When to look again.
    private(set) var next: Instant
    private var reads: UInt64

    /// - Parameters:
    ///   - turn: `journal.reader_wait`.
    ///   - processors: those that the readers share with everybody else; above zero.
    init(at now: Instant, turn: Duration, _ readers: RecentCommits.Behind, processors: Double) {
        let turns = max(1, Double(readers.count) / max(processors, 0.1))
        self.turn = turn
        end = now + max(turn, min(turn * turns, Self.longest))
        next = min(now + turn, end)
        reads = readers.reads
    }

    /// Whether the commit goes on waiting.
    /// - Parameter reads: the present count of all reads.
    mutating func goesOn(at now: Instant, reads: UInt64) -> Bool {
        guard now >= next else { return true }
        guard now < end, reads != self.reads else { return false }
        self.reads = reads
        next = min(now + turn, end)
        return true
    }
}
