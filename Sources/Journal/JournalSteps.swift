import Platform

/// The work of a journal that has no threads of its own: whoever has this does the writer's and the
/// keeper's steps, one at a time, in any order. For the simulator.
package struct JournalSteps: Sendable {
    private let journal: Journal
    private let writer: JournalWriter
    private let keeper: JournalKeeper
    private let onSpace: @Sendable () -> Void

    init(_ journal: Journal, _ writer: JournalWriter, _ keeper: JournalKeeper, onSpace: @escaping @Sendable () -> Void) {
        self.journal = journal
        self.writer = writer
        self.keeper = keeper
        self.onSpace = onSpace
    }

    /// Once around the writer's loop.
    /// - Returns: when it has to come again though nobody appends; nil: not by itself.
    @discardableResult
    package func write() -> Instant? {
        _ = journal.step(writer, onSpace)
        return writer.deadline
    }

    /// Once around the keeper's.
    package func keep() { _ = journal.step(keeper, onSpace) }
}
