import Platform

@testable import Delivery

/// Threads that follow a run queue in simulated time. A turn takes as long as its worker specifies.
struct SimulatedPool {
    struct Turn {
        var length: Duration
        /// The time from this turn's end until the next turn is due. Nil: the next turn comes when the worker is woken.
        var due: Duration?
    }

    enum Thread: Equatable {
        case asleep(until: Instant?)
        case busy(worker: Int, until: Instant, due: Instant?)
        case ended
    }

    struct Record: Equatable {
        var worker: Int
        var began: Instant
        var thread: Int
    }

    var queue: RunQueue
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var threads: [Thread] = []
    private(set) var turns: [Record] = []
    /// What a turn does and how long it takes, by worker.
    var length: [Int: (Instant) -> Turn] = [:]

    init(threads: Int) {
        queue = RunQueue(threads: threads)
        resize(threads)
    }

    mutating func resize(_ count: Int) {
        let change = queue.resize(count)
        for _ in 0..<change.start {
            threads.append(.asleep(until: nil))
            step(threads.count - 1)
        }
        for thread in change.ring { step(thread) }
    }

    mutating func add(callsScripts: Bool = false, _ turn: @escaping (Instant) -> Turn) -> Int {
        let worker = queue.add(callsScripts: callsScripts, now)
        length[worker] = turn
        return worker
    }

    mutating func wake(_ worker: Int) {
        if let thread = queue.wake(worker, now) { step(thread) }
    }

    mutating func end() {
        for thread in queue.end() { step(thread) }
    }

    /// Advances the time by `duration` and runs the turns in it.
    mutating func run(for duration: Duration) {
        let end = now + duration
        while true {
            let next = threads.indices.compactMap { number -> (Instant, Int)? in
                switch threads[number] {
                case .asleep(let until): until.map { ($0, number) }
                case .busy(_, let until, _): (until, number)
                case .ended: nil
                }
            }.min { $0.0 < $1.0 }
            guard let (time, thread) = next, time <= end else { break }
            now = max(now, time)
            step(thread)
        }
        now = end
    }

    /// The start times of the worker's turns.
    func began(_ worker: Int) -> [Instant] { turns.filter { $0.worker == worker }.map(\.began) }

    /// The worker that each thread runs. Nil: the thread is idle.
    var running: [Int?] { threads.map { if case .busy(let worker, _, _) = $0 { worker } else { nil } } }

    private mutating func step(_ thread: Int) {
        if case .busy(let worker, let until, let due) = threads[thread] {
            let began = turns.last { $0.worker == worker }?.began ?? until
            _ = queue.ended(worker, worked: until - began, due: due, now)
        }
        let decision = queue.next(thread, now)
        switch decision.step {
        case .run(let worker):
            let turn = length[worker]?(now) ?? Turn(length: .zero)
            turns.append(Record(worker: worker, began: now, thread: thread))
            threads[thread] = .busy(
                worker: worker, until: now + turn.length, due: turn.due.map { now + turn.length + $0 })
        case .sleep(let until): threads[thread] = .asleep(until: until)
        case .end: threads[thread] = .ended
        }
        if let other = decision.ring { step(other) }
    }
}
