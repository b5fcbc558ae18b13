import Platform
import Synchronization

/// A thread that runs one worker's turns. For destinations that may block, perhaps forever: a network filesystem that
/// is gone, a plugin that waits for another process. A blocked thread can't be ended, only abandoned.
package final class WorkerRunner: Sendable {
    /// How long to wait for the thread's end after the stop deadline.
    private static let grace = Duration.seconds(1)

    private let worker: DeliveryWorker
    private let bell: Doorbell
    private let progress: Progress
    private let thread: WorkerThread

    /// Starts the thread.
    /// - Parameter bell: the doorbell that the worker's `wake` rings.
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

    /// Any thread: when the running turn began; nil: the thread sleeps.
    package var turnBegan: Instant? {
        let began = progress.turnBegan.load(ordering: .relaxed)
        return began == Progress.asleep ? nil : Instant(nanoseconds: began)
    }

    /// Any thread: wakes the worker.
    package func ring() { bell.ring() }

    /// Any thread: the thread has ended; no turn will run again.
    package var hasEnded: Bool { progress.ended.load(ordering: .acquiring) }

    /// Asks the worker to stop and waits for the thread's end. Call it on one thread.
    /// - Returns: false if the thread is stuck in a call to the destination. The thread ends as soon as that call
    ///   returns; `reap` it then. Until then the worker may still touch the files that its destination writes.
    package func stop(by deadline: Instant) -> Bool {
        worker.requestStop(by: deadline)
        bell.ring()
        while !hasEnded {
            guard progress.over.wait(until: deadline + Self.grace) else { break }
        }
        return reap()
    }

    /// Frees the resources of an ended thread. Don't call it again once it has returned true.
    /// - Returns: whether the thread has ended.
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
