import Platform
import Synchronization

/// A thread that runs one worker's turns: for destinations that may block.
package final class WorkerRunner: Sendable {
    private let worker: DeliveryWorker
    private let bell: Doorbell
    private let turns: TurnCounter
    private let thread: WorkerThread

    /// Starts at once.
    /// - Parameter bell: the one that the worker's `wake` rings.
    package init(_ worker: DeliveryWorker, bell: Doorbell, clock: any Clock) {
        let turns = TurnCounter()
        self.worker = worker
        self.bell = bell
        self.turns = turns
        thread = WorkerThread(name: "to-\(worker.name)") {
            while !worker.isStopped {
                turns.step()
                let due = worker.turn(now: clock.now())
                turns.step()
                if worker.isStopped { break }
                if let due, due <= clock.now() { continue }
                bell.wait(until: due)
            }
        }
    }

    /// Any thread. For the watchdog: odd while a turn runs, even while the thread sleeps, and it
    /// only grows. The same odd number twice, a watchdog's interval apart, is a thread that is stuck.
    package var heartbeat: UInt64 { turns.count.load(ordering: .relaxed) }

    /// Any thread: there is something to read.
    package func ring() { bell.ring() }

    /// Asks the worker to stop and waits for the thread's end. Once. May take longer than `deadline`
    /// by what one call to the destination takes.
    package func stop(by deadline: Instant) {
        worker.requestStop(by: deadline)
        bell.ring()
        thread.join()
    }

    private final class TurnCounter: Sendable {
        let count = Atomic<UInt64>(0)
        func step() { count.wrappingAdd(1, ordering: .relaxed) }
    }
}
