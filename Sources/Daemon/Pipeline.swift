import Configuration
import Delivery
import Platform
import Synchronization

/// The destinations at work. Any thread may ring and look; one (the main thread) changes them.
final class Pipeline: Sendable {
    private let running = Mutex<[String: RunningDestination]>([:])
    private let clock: any Clock

    init(clock: any Clock) {
        self.clock = clock
    }

    /// The journal committed.
    func ring() {
        running.withLock { for destination in $0.values { destination.ring() } }
    }

    func add(_ destination: RunningDestination) {
        running.withLock { $0[destination.worker.name] = destination }
    }

    /// Ends these destinations, all at once; what is in flight may settle until the deadline.
    func stop(_ names: some Sequence<String>, by deadline: Instant) {
        let ending = running.withLock { running in names.compactMap { running.removeValue(forKey: $0) } }
        for destination in ending { destination.requestStop(by: deadline) }
        for destination in ending { destination.awaitStop(by: deadline, clock: clock) }
    }

    /// Waits until every destination that is up has settled what is below `position`, or the
    /// deadline passes. One that is retrying or held is not waited for.
    func awaitDelivery(upTo position: UInt64, by deadline: Instant) {
        let pause = Doorbell()
        func isBehind(_ status: DeliveryStatus) -> Bool { status.state == .up && status.positionSettled < position }
        while clock.now() < deadline, destinations.contains(where: { isBehind($0.worker.status) }) {
            pause.wait(until: clock.now() + .milliseconds(5))
        }
    }

    func stopAll(by deadline: Instant) {
        stop(names, by: deadline)
    }

    var names: [String] { running.withLock { Array($0.keys) } }
    var destinations: [RunningDestination] { running.withLock { Array($0.values) } }
    subscript(name: String) -> RunningDestination? { running.withLock { $0[name] } }
}
