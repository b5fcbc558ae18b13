import Ingest
import Platform
import PluginHosting
import Synchronization

/// What other threads tell a source's worker. Any thread, except where a comment names the worker.
final class SourceControl: Sendable {
    /// Only the worker waits for it.
    let bell = Doorbell()

    private struct State {
        /// When the source is to have stopped; nil: it is not to stop.
        var stop: Instant?
        /// Set once the worker has a process, until it has ended.
        var process: PluginProcess?
        var hasTerminated = false
    }

    private let state = Mutex(State())
    private let hasEnded = Doorbell()
    private let hasRoom = Atomic(false)
    /// The durable end that the worker waits for; `.max`: it waits for none.
    private let awaitedEnd = Atomic<UInt64>(.max)
    private let appended = Atomic<UInt64>(0)

    var appendedEnd: UInt64 { appended.load(ordering: .acquiring) }

    func noteAppended(_ end: UInt64) { appended.max(end, ordering: .acquiringAndReleasing) }

    // MARK: The journal

    func journalCommitted(_ appender: any EventAppender) {
        // With the fence in `await`: either this thread sees the awaited end, or the worker sees the durable one.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let awaited = awaitedEnd.load(ordering: .sequentiallyConsistent)
        if awaited != .max, appender.durableEnd >= awaited { bell.ring() }
    }

    func journalHasRoom() {
        if !hasRoom.exchange(true, ordering: .acquiringAndReleasing) { bell.ring() }
    }

    /// Worker: from now on, `journalCommitted` rings the bell at this durable end. Compare the durable end after it.
    func await(end: UInt64?) {
        awaitedEnd.store(end ?? .max, ordering: .sequentiallyConsistent)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// Worker: forgets the room that there was. Call it before an append that may find the journal busy.
    func forgetRoom() { hasRoom.store(false, ordering: .sequentiallyConsistent) }

    /// Worker: whether the journal had room since `forgetRoom`.
    var journalHadRoom: Bool { hasRoom.load(ordering: .acquiring) }

    // MARK: The stop

    func stop(by deadline: Instant) {
        state.withLock { $0.stop = deadline }
        bell.ring()
    }

    /// When the source is to have stopped; nil: it is not to stop.
    var stopDeadline: Instant? { state.withLock { $0.stop } }

    /// Ends the process, and each that the worker would still start.
    func terminate(_ reason: String) {
        state.withLock { state -> PluginProcess? in
            state.hasTerminated = true
            return state.process
        }?.terminate(reason)
    }

    /// Worker: `terminate` ends this process from now on.
    func note(_ process: PluginProcess?) {
        let isLate = state.withLock { state in
            state.process = process
            return state.hasTerminated
        }
        if isLate { process?.terminate("the source was stopped") }
    }

    /// Worker: no code of the source runs after it.
    func noteEnd() { hasEnded.ring() }

    func waitForEnd(until deadline: Instant) { hasEnded.wait(until: deadline) }
}
