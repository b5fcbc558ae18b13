import Delivery
import Destinations
import Platform
import Seams

/// One destination at work: its worker, and the thread that runs it.
final class RunningDestination: Sendable {
    private enum Runner: Sendable {
        /// A thread of its own: files and plugins block.
        case thread(WorkerRunner)
        /// libcurl's thread, which all HTTP destinations share.
        case engine(HTTPEngineRegistration)
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

    /// Starts on the engine's thread.
    /// - Parameter place: the worker's wake goes there.
    static func start(
        _ worker: DeliveryWorker, deadLetters: DeadLetterFile, place: HTTPEngineRegistration
    ) -> RunningDestination {
        place.begin { worker.turn(now: $0) }
        return RunningDestination(worker, deadLetters: deadLetters, runner: .engine(place))
    }

    /// There may be something to read. Any thread.
    func ring() {
        switch runner {
        case .thread(let thread): thread.ring()
        case .engine(let registration): registration.wake()
        }
    }

    /// When the turn began that its own thread is in; nil: none. HTTP destinations' thread is the
    /// engine's, which is watched once for all.
    var turnBegan: Instant? {
        switch runner {
        case .thread(let thread): thread.turnBegan
        case .engine: nil
        }
    }

    /// Asks it to end; `awaitStop` waits for it.
    func requestStop(by deadline: Instant) {
        worker.requestStop(by: deadline)
        ring()
    }

    /// Waits for its end; its cursor is in the store then.
    /// - Returns: false: its thread is in a call that does not return, and has to be left behind.
    func awaitStop(by deadline: Instant, clock: any Clock) -> Bool {
        switch runner {
        case .thread(let thread):
            return thread.stop(by: deadline)
        case .engine(let registration):
            let pause = Doorbell()
            while !worker.isStopped, clock.now() < deadline + .seconds(1) {
                pause.wait(until: clock.now() + .milliseconds(2))
            }
            registration.cancel()
            return true
        }
    }

    /// Of one that was left behind: whether its thread has come back and ended.
    func reap() -> Bool {
        switch runner {
        case .thread(let thread): thread.reap()
        case .engine: true
        }
    }
}
