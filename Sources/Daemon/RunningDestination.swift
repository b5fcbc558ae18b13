import Delivery
import Destinations
import Platform
import Seams

/// One destination at work: its worker, and what runs the worker's turns.
final class RunningDestination: Sendable {
    private enum Runner: Sendable {
        /// A thread of its own: files and plugins block.
        case thread(WorkerRunner)
        /// The routing pool, whose threads the HTTP destinations share.
        case pool(RoutingPlace)
    }

    let worker: DeliveryWorker
    let deadLetters: DeadLetterFile
    private let runner: Runner

    private init(_ worker: DeliveryWorker, deadLetters: DeadLetterFile, runner: Runner) {
        self.worker = worker
        self.deadLetters = deadLetters
        self.runner = runner
    }

    /// Starts on a thread of its own.
    /// - Parameter bell: the one that the worker's wake rings.
    static func start(
        _ worker: DeliveryWorker, deadLetters: DeadLetterFile, bell: Doorbell, clock: any Clock
    ) -> RunningDestination {
        RunningDestination(worker, deadLetters: deadLetters, runner: .thread(WorkerRunner(worker, bell: bell, clock: clock)))
    }

    /// Starts in the routing pool.
    /// - Parameters:
    ///   - place: the worker's wake goes there.
    ///   - callsScripts: one event may take milliseconds.
    static func start(
        _ worker: DeliveryWorker, deadLetters: DeadLetterFile, place: RoutingPlace, callsScripts: Bool
    ) -> RunningDestination {
        place.begin(callsScripts: callsScripts) { worker.turn(now: $0, for: $1) }
        return RunningDestination(worker, deadLetters: deadLetters, runner: .pool(place))
    }

    /// There may be something to read. Any thread.
    func ring() {
        switch runner {
        case .thread(let thread): thread.ring()
        case .pool(let place): place.wake()
        }
    }

    /// When the turn began that runs now; nil: none runs. A turn that lasts for seconds is in a call that does not
    /// return: of a disk, a plugin or a script.
    var turnBegan: Instant? {
        switch runner {
        case .thread(let thread): thread.turnBegan
        case .pool(let place): place.turnBegan
        }
    }

    /// Asks it to end; `awaitStop` waits for it.
    func requestStop(by deadline: Instant) {
        worker.requestStop(by: deadline)
        ring()
    }

    /// Waits for its end; its cursor is in the store then.
    /// - Returns: false: its turn is in a call that does not return, and has to be left behind.
    func awaitStop(by deadline: Instant, clock: any Clock) -> Bool {
        switch runner {
        case .thread(let thread):
            return thread.stop(by: deadline)
        case .pool(let place):
            let pause = Doorbell()
            while !worker.isStopped, clock.now() < deadline + .seconds(1) {
                pause.wait(until: clock.now() + .milliseconds(2))
            }
            guard worker.isStopped else { return false }
            place.cancel()
            return true
        }
    }

    /// Of one that was left behind: whether its turn has come back and the worker has ended.
    func reap() -> Bool {
        switch runner {
        case .thread(let thread): return thread.reap()
        case .pool(let place):
            guard worker.isStopped else { return false }
            place.cancel()
            return true
        }
    }
}
