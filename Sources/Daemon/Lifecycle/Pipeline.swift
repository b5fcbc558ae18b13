import DaemonConfiguration
import Delivery
import Platform
import Synchronization

/// The running destinations. Any thread may ring and read; only the main thread starts and stops them.
///
/// If a destination's thread hangs in a call when it must stop, the pipeline abandons the destination: no other
/// destination waits for it. It keeps its file and its cursor until that call returns. A destination of the same name,
/// which may write to the same file and advances the same cursor, starts only after that.
final class Pipeline: Sendable {
    private struct State {
        var running: [String: RunningDestination] = [:]
        var leftBehind: [String: RunningDestination] = [:]
        /// Destinations that start when the one of the same name in `leftBehind` has stopped.
        var successors: [String: Successor] = [:]
    }

    /// Unchecked: only the main thread creates it and calls `start`.
    private struct Successor: @unchecked Sendable {
        let start: () -> RunningDestination
    }

    private let state = Mutex(State())
    private let clock: any Clock

    init(clock: any Clock) {
        self.clock = clock
    }

    /// After a journal commit: wakes the destinations that can do something with its events. Any thread.
    func journalCommitted() {
        state.withLock {
            for destination in $0.running.values where destination.worker.isDueAfterCommit() {
                destination.ring()
            }
        }
    }

    /// Starts a destination: now, or when its predecessor of the same name has stopped.
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
        // Its worker may have read to the end before it was added; a commit in between did not ring it.
        destination.ring()
    }

    /// Stops these destinations concurrently. Batches in flight may settle until the deadline.
    /// - Returns: the names of the destinations that were abandoned.
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

    /// Starts the successors of abandoned destinations that have stopped since.
    func startSuccessors() {
        let free = state.withLock { state in
            state.leftBehind.filter { $0.value.reap() }.keys.compactMap { name in
                state.leftBehind[name] = nil
                return state.successors.removeValue(forKey: name)
            }
        }
        for successor in free { add(successor.start()) }
    }

    /// Waits until every destination that is up has settled all events below `position`, or the deadline passes. Does
    /// not wait for destinations that are retrying or held. Batches do not wait for more events any more.
    func awaitDelivery(upTo position: UInt64, by deadline: Instant) {
        for destination in destinations { destination.hurry() }
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
    /// Abandoned destinations for which a successor waits.
    var awaited: [RunningDestination] {
        state.withLock { state in state.successors.keys.compactMap { state.leftBehind[$0] } }
    }
    subscript(name: String) -> RunningDestination? { state.withLock { $0.running[name] ?? $0.leftBehind[name] } }
}
