import Platform

/// A commit's wait for readers that would otherwise have to read it from the disk (`RecentCommits.readersToAwait`).
///
/// Each reader needs a processor for a moment. With more of them than processors, the turn of some comes late; once
/// they read from the disk, they take even more of the others' time. So the wait is as many times as long as these
/// readers need turns, and becomes shorter with each that has gone on: the last one gets no more than one turn. It ends
/// early when none of them has read anything for the time of one turn: their destinations keep them then.
struct ReaderPause {
    /// The longest wait, unless one turn is longer.
    static let longest = Duration.milliseconds(100)

    /// One turn.
    private let turn: Duration
    private let processors: Double
    private let begin: Instant
    /// When to look again.
    private(set) var next: Instant
    private var reads: UInt64

    /// - Parameters:
    ///   - turn: `journal.reader_wait`.
    ///   - processors: those that the readers share with everybody else.
    ///   - reads: the present count of all reads.
    init(at now: Instant, turn: Duration, processors: Double, reads: UInt64) {
        self.turn = turn
        self.processors = max(processors, 0.1)
        begin = now
        next = now + turn
        self.reads = reads
    }

    init(at now: Instant, _ options: JournalOptions, reads: UInt64) {
        self.init(at: now, turn: options.readerWait, processors: options.processors, reads: reads)
    }

    /// Whether the commit goes on waiting.
    /// - Parameter readers: those that it still waits for.
    mutating func goesOn(at now: Instant, _ readers: RecentCommits.Awaited) -> Bool {
        guard now >= next else { return true }
        let turns = max(1, Double(readers.count) / processors)
        let end = begin + max(turn, min(turn * turns, Self.longest))
        guard now < end, readers.reads != reads else { return false }
        reads = readers.reads
        next = min(now + turn, end)
        return true
    }
}
