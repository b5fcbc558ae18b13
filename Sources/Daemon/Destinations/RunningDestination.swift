import Delivery
import Destinations
import JournalAdapters
import Platform
import PluginHosting

/// A running destination: its worker, and the thread or pool that runs the worker's turns. Any thread.
final class RunningDestination: Sendable {
    private enum Runner: Sendable {
        /// Its own thread, for files and plugins, which block.
        case thread(WorkerRunner)
        /// The routing pool, whose threads all HTTP destinations share.
        case pool(RoutingPlace)
    }

    let worker: DeliveryWorker
    let deadLetters: DeadLetterFile
    /// nil: it is no plugin.
    let plugin: RunningPlugin?
    /// nil: it changes no events to fit limits.
    let mended: MendedEvents?
    private let runner: Runner

    private init(
        _ worker: DeliveryWorker, deadLetters: DeadLetterFile, plugin: RunningPlugin? = nil,
        mended: MendedEvents? = nil, runner: Runner
    ) {
        self.worker = worker
        self.deadLetters = deadLetters
        self.plugin = plugin
        self.mended = mended
        self.runner = runner
    }

    /// Starts the worker on its own thread.
    /// - Parameter bell: the doorbell that the worker's `wake` rings.
    static func start(
        _ worker: DeliveryWorker, deadLetters: DeadLetterFile, plugin: RunningPlugin? = nil, bell: Doorbell,
        clock: any Clock
    ) -> RunningDestination {
        RunningDestination(
            worker, deadLetters: deadLetters, plugin: plugin,
            runner: .thread(WorkerRunner(worker, bell: bell, clock: clock)))
    }

    /// Starts the worker in the routing pool.
    /// - Parameters:
    ///   - place: the place that the worker's `wake` wakes.
    ///   - callsScripts: routing one event may take milliseconds.
    static func start(
        _ worker: DeliveryWorker, deadLetters: DeadLetterFile, mended: MendedEvents? = nil, place: RoutingPlace,
        callsScripts: Bool
    ) -> RunningDestination {
        place.begin(callsScripts: callsScripts) { worker.turn(now: $0, for: $1) }
        return RunningDestination(worker, deadLetters: deadLetters, mended: mended, runner: .pool(place))
    }

    /// Wakes the worker. Any thread.
    func ring() {
        switch runner {
        case .thread(let thread): thread.ring()
        case .pool(let place): place.wake()
        }
    }

    /// The start of the current turn; nil between turns. A turn that lasts for seconds hangs in a call to a disk, a
    /// plugin or a script.
    var turnBegan: Instant? {
        switch runner {
        case .thread(let thread): thread.turnBegan
        case .pool(let place): place.turnBegan
        }
    }

    /// Ends the wait for larger batches. Any thread.
    func hurry() {
        worker.hurry()
        ring()
    }

    /// Asks the worker to stop and returns at once. `awaitStop` waits for the end.
    func requestStop(by deadline: Instant) {
        worker.requestStop(by: deadline)
        ring()
    }

    /// Waits until the worker has stopped. Its cursor is in the store by then.
    /// - Returns: false if its turn hangs in a call; the caller then abandons the destination.
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

    /// Releases the thread or pool place of an abandoned destination.
    /// - Returns: false while its turn still hangs.
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
