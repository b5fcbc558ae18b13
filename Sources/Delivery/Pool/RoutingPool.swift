import Platform
import Synchronization

/// A few threads that run the turns of many workers. For destinations whose turns never wait, such as HTTP: their
/// events are read, routed and made into requests here, and another thread transfers those.
///
/// - Turns of one worker never overlap; each may run on another thread.
/// - Which worker is next, and why no worker can keep the others waiting: `RunQueue`.
/// - A thread of the pool waits only while there is no turn for it.
package final class RoutingPool: Sendable {
    private struct State {
        var queue: RunQueue
        /// By the worker's number.
        var places: [Int: RoutingPlace] = [:]
        /// By the thread's number. Threads that have ended stay until `stop`.
        var threads: [PoolThread] = []
    }

    /// One thread, and how others reach it.
    private final class PoolThread: Sendable {
        let bell = Doorbell()
        let over = Doorbell()
        let hasEnded = Atomic(false)
        let thread = Mutex<WorkerThread?>(nil)
    }

    private let state: Mutex<State>
    private let clock: any Clock
    private let beats = Atomic<UInt64>(0)

    /// Starts no thread yet.
    /// - Parameter threads: how many there are; at least 2, since one is kept free of slow workers.
    package init(threads: Int, clock: any Clock = SystemClock()) {
        state = Mutex(State(queue: RunQueue(threads: max(2, threads))))
        self.clock = clock
    }

    /// Starts the threads. Once. The pool lives until `stop`.
    package func start() {
        resize(state.withLock { $0.queue.threads })
    }

    /// Changes the number of threads. Turns that run end as usual. Any thread, after `start`.
    package func resize(_ threads: Int) {
        let (added, surplus) = state.withLock { state -> ([(Int, PoolThread)], [PoolThread]) in
            guard !state.queue.isEnding else { return ([], []) }
            let change = state.queue.resize(threads)
            let added = (0..<change.start).map { _ in
                state.threads.append(PoolThread())
                return (state.threads.count - 1, state.threads[state.threads.count - 1])
            }
            return (added, change.ring.map { state.threads[$0] })
        }
        for thread in surplus { thread.bell.ring() }
        for (number, thread) in added {
            thread.thread.withLock { $0 = WorkerThread(name: "routing \(number)") { self.run(number, thread) } }
        }
    }

    /// Ends the threads and lets go of all workers, which have to be stopped before. Again does nothing. Any thread but
    /// the pool's own.
    /// - Returns: whether all threads ended by then. One that is in a turn ends with it.
    @discardableResult
    package func stop(by deadline: Instant) -> Bool {
        let (sleeping, threads) = state.withLock { state in
            (state.queue.end().map { state.threads[$0] }, state.threads)
        }
        for thread in sleeping { thread.bell.ring() }
        var allEnded = true
        for thread in threads {
            while !thread.hasEnded.load(ordering: .acquiring), thread.over.wait(until: deadline) {}
            guard thread.hasEnded.load(ordering: .acquiring) else {
                allEnded = false
                continue
            }
            thread.thread.withLock { $0.take()?.join() }
        }
        for place in state.withLock({ Array($0.places.values) }) { place.cancel() }
        return allEnded
    }

    /// For the watchdog: grows with each turn, and is odd while there is no thread for a worker that has something to
    /// do. Standing still at an odd number means that the pool hangs. Any thread.
    package var heartbeat: UInt64 {
        let now = clock.now()
        let isSaturated = state.withLock { $0.queue.isSaturated(now) }
        return beats.load(ordering: .relaxed) << 1 | (isSaturated ? 1 : 0)
    }

    /// A place for a worker's turns; `begin` starts them. In two steps, so that a worker may be made that knows whom to
    /// `wake`. Any thread.
    package func register() -> RoutingPlace { RoutingPlace(self) }

    // MARK: Places

    /// - Returns: the worker's number.
    func admit(_ place: RoutingPlace, callsScripts: Bool) -> Int {
        let now = clock.now()
        return state.withLock { state in
            let number = state.queue.add(callsScripts: callsScripts, now)
            state.places[number] = place
            return number
        }
    }

    func wake(_ number: Int, of place: RoutingPlace) {
        let now = clock.now()
        let thread = state.withLock { state -> PoolThread? in
            guard state.places[number] === place else { return nil }
            return state.queue.wake(number, now).map { state.threads[$0] }
        }
        thread?.bell.ring()
    }

    /// - Returns: whether no turn runs.
    func cancel(_ number: Int, of place: RoutingPlace) -> Bool {
        state.withLock { state in
            guard state.places[number] === place else { return false }
            guard state.queue.cancel(number) else { return false }
            state.places[number] = nil
            return true
        }
    }

    // MARK: The threads

    private func run(_ number: Int, _ thread: PoolThread) {
        var turn: (worker: Int, worked: Duration, due: Instant?)?
        while true {
            let now = clock.now()
            let (step, place, gone, other) = state.withLock { state in
                var gone: RoutingPlace?
                if let turn, state.queue.ended(turn.worker, worked: turn.worked, due: turn.due, now) {
                    gone = state.places.removeValue(forKey: turn.worker)
                }
                let decision = state.queue.next(number, now)
                var place: RoutingPlace?
                if case .run(let worker) = decision.step { place = state.places[worker] }
                return (decision.step, place, gone, decision.ring.map { state.threads[$0] })
            }
            turn = nil
            other?.bell.ring()
            gone?.release()
            switch step {
            case .run(let worker):
                guard let place else { preconditionFailure("a worker of the pool has a place") }
                beats.wrappingAdd(1, ordering: .relaxed)
                let before = WorkerThread.processorTime
                let due = place.run(now, for: RunQueue.slice)
                turn = (worker, WorkerThread.processorTime - before, due)
                beats.wrappingAdd(1, ordering: .relaxed)
            case .sleep(let until):
                thread.bell.wait(until: until)
            case .end:
                thread.hasEnded.store(true, ordering: .releasing)
                thread.over.ring()
                return
            }
        }
    }
}
