import Platform
import Synchronization

/// A thread that runs one worker's turns: for destinations that may block, and then perhaps for ever
/// (a network's file system that is gone, a plugin that waits for somebody). Such a thread cannot be
/// ended, only left behind.
package final class WorkerRunner: Sendable {
    /// How long after its deadline a thread that was asked to stop is waited for.
    private static let grace = Duration.seconds(1)

    private let worker: DeliveryWorker
    private let bell: Doorbell
    private let progress: Progress
    private let thread: WorkerThread

    /// Starts at once.
    /// - Parameter bell: the one that the worker's `wake` rings.
    package init(_ worker: DeliveryWorker, bell: Doorbell, clock: any Clock) {
        let progress = Progress()
        self.worker = worker
        self.bell = bell
        self.progress = progress
        thread = WorkerThread(name: "to-\(worker.name)") {
            while !worker.isStopped {
                let now = clock.now()
                progress.turnBegan.store(now.nanoseconds, ordering: .relaxed)
                let due = worker.turn(now: now)
                progress.turnBegan.store(Progress.asleep, ordering: .relaxed)
                if worker.isStopped { break }
                if let due, due <= clock.now() { continue }
                bell.wait(until: due)
            }
            progress.ended.store(true, ordering: .releasing)
            progress.over.ring()
        }
    }

    /// Any thread: when the turn began that runs now; nil: the thread sleeps.
    package var turnBegan: Instant? {
        let began = progress.turnBegan.load(ordering: .relaxed)
        return began == Progress.asleep ? nil : Instant(nanoseconds: began)
    }

    /// Any thread: there is something to read.
    package func ring() { bell.ring() }

    /// Any thread: no turn runs, and none will.
    package var hasEnded: Bool { progress.ended.load(ordering: .acquiring) }

    /// Asks the worker to stop and waits for the thread's end. One thread.
    /// - Returns: false: it is in a call to the destination that does not return; `reap` it when it has
    ///   ended, which it does as soon as that call returns. Until then the worker may still touch
    ///   what its destination writes to.
    package func stop(by deadline: Instant) -> Bool {
        worker.requestStop(by: deadline)
        bell.ring()
        while !hasEnded {
            guard progress.over.wait(until: deadline + Self.grace) else { break }
        }
        return reap()
    }

    /// Frees what a thread that has ended leaves. Once it has said true, not again.
    /// - Returns: whether it has ended.
    package func reap() -> Bool {
        guard hasEnded else { return false }
        thread.join()
        return true
    }

    private final class Progress: Sendable {
        static let asleep = Int64.min

        let turnBegan = Atomic<Int64>(Progress.asleep)
        let ended = Atomic(false)
        let over = Doorbell()
    }
}
