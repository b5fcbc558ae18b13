import Platform
import Synchronization

/// A few threads that run the turns of many workers. For destinations whose turns never wait, such as HTTP: these
/// threads read and route events and build requests, and another thread transfers the requests.
///
/// - The turns of one worker never overlap, but each may run on another thread.
/// - `RunQueue` decides which worker runs next, and explains why no worker can starve the others.
/// - A pool thread waits only while no turn is available for it.
package final class RoutingPool: Sendable {
    private struct State {
        var queue: RunQueue
        /// Keyed by the worker's number.
        var places: [Int: RoutingPlace] = [:]
        /// Indexed by the thread's number. Ended threads stay until `stop`.
        var threads: [PoolThread] = []
    }

    /// One thread, and the means to wake it and to wait for its end.
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
    /// - Parameter threads: the number of threads; at least 2, because slow workers never get the last one.
    package init(threads: Int, clock: any Clock = SystemClock()) {
        state = Mutex(State(queue: RunQueue(threads: max(2, threads))))
        self.clock = clock
    }

    /// Starts the threads. Call once. The pool lives until `stop`.
    package func start() {
        resize(state.withLock { $0.queue.threads })
    }

    /// Changes the number of threads. Running turns end as usual. Any thread, after `start`.
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

    /// Ends the threads and releases all workers, which must be stopped before. A second call does nothing. Any thread
    /// but the pool's own.
    /// - Returns: whether all threads ended by the deadline. A thread in a turn ends after that turn.
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

    /// For the watchdog: grows with each turn, and is odd while no thread is left for a worker that has work. An odd
    /// number that stays the same means that the pool hangs. Any thread.
    package var heartbeat: UInt64 {
        let now = clock.now()
        let isSaturated = state.withLock { $0.queue.isSaturated(now) }
        return beats.load(ordering: .relaxed) << 1 | (isSaturated ? 1 : 0)
    }

    /// A place for a worker's turns; `begin` starts them. Two steps, because a worker needs the place's `wake` when it
    /// is created. Any thread.
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
