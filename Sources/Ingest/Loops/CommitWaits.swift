import Synchronization

/// The connections of a loop that wait for a commit, and the loop's notification of commits. Unchecked: each function
/// names its thread.
final class CommitWaits: @unchecked Sendable {
    private let hasCommit = Atomic<Bool>(false)
    /// Whether any connection waits. Most never do, and then a commit wakes no thread.
    private let anyWaits = Atomic<Bool>(false)
    /// By id, because a connection may have moved to another loop. Belongs to the loop's thread.
    private var waiting = Fifo<(connection: UInt64, end: UInt64)>()

    /// The journal has committed. Any thread.
    /// - Returns: whether to wake the loop.
    func committed() -> Bool {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard anyWaits.load(ordering: .sequentiallyConsistent) else { return false }
        return !hasCommit.exchange(true, ordering: .sequentiallyConsistent)
    }

    /// Whether there was a commit since the last call. The loop's thread.
    func takeCommit() -> Bool { hasCommit.exchange(false, ordering: .sequentiallyConsistent) }

    /// A connection waits for the commit of `end`. The loop's thread.
    /// - Returns: whether that commit has already happened, so that the loop must not sleep.
    func add(_ connection: UInt64, end: UInt64, durableEnd: () -> UInt64) -> Bool {
        waiting.append((connection, end))
        anyWaits.store(true, ordering: .sequentiallyConsistent)
        // The commit may have happened before the flag was set. This fence and the one in `committed` guarantee that at
        // least one of the two threads sees what the other has stored.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard durableEnd() >= end else { return false }
        hasCommit.store(true, ordering: .sequentiallyConsistent)
        return true
    }

    /// Removes and returns a connection whose wait is over; nil: there is none. The loop's thread.
    ///
    /// Groups are queued in the journal in the order in which they were added here, so the committed ones are at the
    /// front. Those of a connection that came from another loop may be later in the list, and then wait for the commit
    /// of those before them.
    func next(durableEnd: UInt64) -> UInt64? {
        if let front = waiting.front, front.end <= durableEnd { return waiting.popFirst()?.connection }
        if waiting.isEmpty { anyWaits.store(false, ordering: .sequentiallyConsistent) }
        return nil
    }
}
