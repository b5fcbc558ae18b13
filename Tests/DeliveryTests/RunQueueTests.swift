import Platform
import Testing

@testable import Delivery

@Suite("The run queue of a routing pool")
struct RunQueueTests {
    typealias Turn = SimulatedPool.Turn

    /// A turn that fills its slice and leaves more to do.
    private static let whole: @Sendable (Instant) -> Turn = { _ in Turn(length: RunQueue.slice, due: .zero) }
    /// A turn that routes one event.
    private static let short: @Sendable (Instant) -> Turn = { _ in Turn(length: .microseconds(50)) }
    /// A turn of a script that needs 100 ms for each event, with a backlog.
    private static let slow: @Sendable (Instant) -> Turn = { _ in Turn(length: .milliseconds(100), due: .zero) }

    @Test(arguments: [2, 3, 8])
    func `workers with a backlog get equal shares`(threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let workers = (0..<20).map { _ in pool.add(Self.whole) }
        for worker in workers { pool.wake(worker) }
        pool.run(for: .seconds(10))
        let counts = workers.map { pool.began($0).count }
        let fair = threads * 1000 / workers.count
        #expect(counts.allSatisfy { abs($0 - fair) <= 2 }, "\(counts)")
    }

    @Test(arguments: [2, 4])
    func `an idle worker gets the next turn while 200 others catch up`(threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let idle = pool.add(Self.short)
        let workers = (0..<200).map { _ in pool.add(Self.whole) }
        for worker in [idle] + workers { pool.wake(worker) }
        for round in 1...20 {
            // In the first rounds, some of the others still wait for their first turn.
            pool.run(for: .milliseconds(137))
            pool.wake(idle)
            pool.run(for: RunQueue.slice)
            #expect(pool.began(idle).count == round + 1, "the idle worker waits for at most one turn of another worker")
        }
        let counts = workers.map { pool.began($0).count }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1, "the others keep equal shares: \(counts)")
    }

    @Test func `a worker that was idle for long collects no more than its credit`() {
        var pool = SimulatedPool(threads: 2)
        let busy = (0..<4).map { _ in pool.add(Self.whole) }
        let late = pool.add(Self.whole)
        for worker in busy { pool.wake(worker) }
        pool.run(for: .seconds(100))
        pool.wake(late)
        let before = busy.map { pool.began($0).count }
        pool.run(for: .seconds(1))
        let shares = zip(busy, before).map { pool.began($0).count - $1 }
        #expect(
            pool.began(late).count <= 43,
            "a fifth of two seconds, plus at most two turns of credit: \(pool.began(late).count)")
        #expect(shares.allSatisfy { $0 >= 38 }, "\(shares)")
    }

    @Test(arguments: [(1, 2), (2, 2), (5, 2), (5, 3), (20, 8)])
    func `a quick worker waits for no slow script, however many there are`(slow: Int, threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let scripts = (0..<slow).map { _ in pool.add(callsScripts: true, Self.slow) }
        let quick = pool.add(Self.short)
        for worker in scripts { pool.wake(worker) }
        for round in 1...50 {
            pool.run(for: .milliseconds(33))
            let asked = pool.now
            pool.wake(quick)
            #expect(pool.began(quick).count == round && pool.began(quick).last == asked, "its turn starts at once")
        }
        #expect(
            scripts.allSatisfy { pool.began($0).count >= 50 * 33 * min(slow, threads - 1) / 100 / slow - 1 },
            "the scripts continue")
    }

    @Test func `a worker counts as slow after one overrun, and for longer after each relapse`() {
        var pool = SimulatedPool(threads: 2)
        var length = Duration.milliseconds(100)
        let one = pool.add { _ in Turn(length: length) }
        let other = pool.add(callsScripts: true, Self.slow)
        pool.wake(one)
        pool.run(for: .milliseconds(100))
        length = .microseconds(50)
        pool.wake(other)
        pool.wake(one)
        #expect(pool.running == [nil, other] || pool.running == [other, nil], "both are slow; one thread stays free")
        pool.run(for: .seconds(1))
        #expect(pool.began(one).count == 2, "its turn starts when the other worker's turn ends")

        // Lets the worker be quick for `wait`, gives it a turn, and reports whether it then counts as quick.
        func relapse(after wait: Duration) -> Bool {
            pool.run(for: wait)
            pool.wake(one)
            pool.run(for: .milliseconds(200))
            pool.wake(one)
            defer { pool.run(for: .milliseconds(200)) }
            return pool.running.contains(one)
        }
        #expect(!relapse(after: .seconds(50)))
        #expect(relapse(after: .seconds(10)))
        length = .milliseconds(100)
        pool.wake(one)
        pool.run(for: .milliseconds(200))
        length = .microseconds(50)
        #expect(!relapse(after: .seconds(100)), "the second probation lasts two minutes")
        #expect(relapse(after: .seconds(21)))
    }

    @Test func `a long turn counts as slow while it runs`() {
        var pool = SimulatedPool(threads: 2)
        let hanging = pool.add { _ in Turn(length: .seconds(10)) }
        let script = pool.add(callsScripts: true, Self.slow)
        let quick = pool.add(Self.short)
        pool.wake(hanging)
        pool.run(for: .seconds(1))
        pool.wake(script)
        pool.run(for: .seconds(1))
        pool.wake(quick)
        #expect(pool.began(script).isEmpty && pool.began(quick).count == 1)
        pool.run(for: .seconds(8))
        #expect(!pool.began(script).isEmpty, "the script runs when the long turn is over")
    }

    @Test(arguments: [2, 4])
    func `a turn starts when it is due`(threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let workers = (1...3).map { number in
            pool.add { _ in Turn(length: .microseconds(50), due: .milliseconds(100 * number)) }
        }
        for worker in workers { pool.wake(worker) }
        pool.run(for: .seconds(6))
        for (worker, period) in zip(workers, [100, 200, 300]) {
            let began = pool.began(worker)
            #expect(began.count >= 6000 / (period + 1))
            #expect(zip(began, began.dropFirst()).allSatisfy { $1 - $0 < .milliseconds(period + 1) })
        }
    }

    @Test func `one thread keeps time for all while they sleep`() {
        var pool = SimulatedPool(threads: 4)
        let worker = pool.add { _ in Turn(length: .microseconds(50), due: .milliseconds(100)) }
        pool.wake(worker)
        for _ in 0..<20 {
            pool.run(for: .milliseconds(130))
            #expect(pool.threads.filter { $0 != .asleep(until: nil) }.count == 1)
        }
    }

    @Test func `due turns start while other threads are busy`() {
        var pool = SimulatedPool(threads: 2)
        let script = pool.add(callsScripts: true) { _ in Turn(length: .seconds(5), due: .zero) }
        let timed = pool.add { _ in Turn(length: .microseconds(50), due: .milliseconds(100)) }
        pool.wake(timed)
        pool.wake(script)
        pool.run(for: .seconds(10))
        #expect(pool.began(timed).count == 100)
    }

    @Test func `wakes during a turn cause exactly one more turn`() {
        var pool = SimulatedPool(threads: 3)
        let worker = pool.add { _ in Turn(length: .milliseconds(5)) }
        pool.wake(worker)
        for _ in 0..<5 { pool.wake(worker) }
        #expect(pool.running.compactMap { $0 } == [worker], "the worker's turns do not overlap")
        pool.run(for: .seconds(1))
        #expect(pool.began(worker).count == 2)
    }

    @Test func `a cancelled worker gets no more turns, and its number is reused`() {
        var pool = SimulatedPool(threads: 2)
        let idle = pool.add(Self.short)
        let isGone = pool.queue.cancel(idle)
        #expect(isGone)
        let running = pool.add(Self.whole)
        #expect(running == idle)
        pool.wake(running)
        let stillRuns = !pool.queue.cancel(running)
        #expect(stillRuns)
        pool.run(for: .seconds(1))
        #expect(pool.began(running).count == 1)
        pool.wake(running)
        pool.run(for: .seconds(1))
        #expect(pool.began(running).count == 1)
        let next = pool.add(Self.short)
        #expect(next == running)
    }

    @Test func `threads start and end with the configured number, and all end with the pool`() {
        var pool = SimulatedPool(threads: 4)
        let workers = (0..<8).map { _ in pool.add(Self.whole) }
        for worker in workers { pool.wake(worker) }
        pool.run(for: .milliseconds(25))
        pool.resize(2)
        pool.run(for: .milliseconds(25))
        #expect(pool.running.compactMap { $0 }.count == 2)
        pool.resize(6)
        pool.run(for: .milliseconds(25))
        #expect(pool.running.compactMap { $0 }.count == 6)
        pool.end()
        pool.run(for: .milliseconds(25))
        #expect(pool.threads.allSatisfy { $0 == .ended })
    }

    @Test func `a pool is saturated when no thread is left, but not while slow workers wait for each other`() {
        var pool = SimulatedPool(threads: 2)
        let scripts = (0..<3).map { _ in pool.add(callsScripts: true) { _ in Turn(length: .seconds(10), due: .zero) } }
        for script in scripts { pool.wake(script) }
        pool.run(for: .seconds(6))
        #expect(!pool.queue.isSaturated(pool.now))
        let hanging = pool.add { _ in Turn(length: .seconds(10)) }
        pool.wake(hanging)
        #expect(pool.queue.isSaturated(pool.now))
    }
}
