import Platform

/// The work of a journal without its own threads: the owner calls the writer's and the keeper's steps, one at a
/// time, in any order. For the simulator.
package struct JournalSteps: Sendable {
    private let journal: Journal
    private let writer: JournalWriter
    private let keeper: JournalKeeper
    private let onSpace: @Sendable () -> Void

    init(_ journal: Journal, _ writer: JournalWriter, _ keeper: JournalKeeper, onSpace: @escaping @Sendable () -> Void)
    {
        self.journal = journal
        self.writer = writer
        self.keeper = keeper
        self.onSpace = onSpace
    }

    /// One round of the writer's loop.
    /// - Returns: when to call again if nobody appends; nil if only an append needs another call.
    @discardableResult
    package func write() -> Instant? {
        _ = journal.step(writer, onSpace)
        return writer.deadline
    }

    /// One round of the keeper's loop.
    package func keep() { _ = journal.step(keeper, onSpace) }
}
