import Configuration
import Delivery
import Platform
import Synchronization

/// The destinations at work. Any thread may ring and look; one (the main thread) changes them.
///
/// One whose thread does not come back from a call when it is to end is left behind: nobody else
/// waits for it. What it writes to stays its own until it has ended, and so a destination of the
/// same name, which may write to the same file and moves the same cursor, starts only then.
final class Pipeline: Sendable {
    private struct State {
        var running: [String: RunningDestination] = [:]
        var leftBehind: [String: RunningDestination] = [:]
        /// What starts when those left behind have ended.
        var successors: [String: Successor] = [:]
    }

    /// Unchecked: made and started on the main thread, which is the only one to look into it.
    private struct Successor: @unchecked Sendable {
        let start: () -> RunningDestination
    }

    private let state = Mutex(State())
    private let clock: any Clock

    init(clock: any Clock) {
        self.clock = clock
    }

    /// The journal committed.
    func ring() {
        state.withLock { for destination in $0.running.values { destination.ring() } }
    }

    /// Starts a destination: now, or when the one before it has ended.
    func start(_ name: String, _ start: @escaping () -> RunningDestination) {
        let successor = Successor(start: start)
        let mustWait = state.withLock { state in
            guard state.leftBehind[name] != nil else { return false }
            state.successors[name] = successor
            return true
        }
        if !mustWait { add(start()) }
    }

    private func add(_ destination: RunningDestination) {
        state.withLock { $0.running[destination.worker.name] = destination }
    }

    /// Ends these destinations, all at once; what is in flight may settle until the deadline.
    /// - Returns: the names of those that had to be left behind.
    @discardableResult
    func stop(_ names: some Sequence<String>, by deadline: Instant) -> [String] {
        let ending = state.withLock { state in
            names.compactMap { name in
                state.successors[name] = nil
                return state.running.removeValue(forKey: name)
            }
        }
        for destination in ending { destination.requestStop(by: deadline) }
        var left: [String] = []
        for destination in ending where !destination.awaitStop(by: deadline, clock: clock) {
            left.append(destination.worker.name)
            state.withLock { $0.leftBehind[destination.worker.name] = destination }
        }
        return left
    }

    /// Starts what waited for one that was left behind and has ended by now.
    func goOn() {
        let free = state.withLock { state in
            state.leftBehind.filter { $0.value.reap() }.keys.compactMap { name in
                state.leftBehind[name] = nil
                return state.successors.removeValue(forKey: name)
            }
        }
        for successor in free { add(successor.start()) }
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

    var names: [String] { state.withLock { Array($0.running.keys) } }
    var destinations: [RunningDestination] { state.withLock { Array($0.running.values) } }
    /// Those whose end is waited for, so that their successors may start.
    var awaited: [RunningDestination] {
        state.withLock { state in state.successors.keys.compactMap { state.leftBehind[$0] } }
    }
    subscript(name: String) -> RunningDestination? { state.withLock { $0.running[name] ?? $0.leftBehind[name] } }
}
