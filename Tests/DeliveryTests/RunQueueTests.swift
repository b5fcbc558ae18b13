import Platform
import Testing

@testable import Delivery

@Suite("The run queue of a routing pool")
struct RunQueueTests {
    typealias Turn = SimulatedPool.Turn

    /// A turn that always leaves more to do.
    private static let whole: @Sendable (Instant) -> Turn = { _ in Turn(length: RunQueue.slice, due: .zero) }
    /// A turn for one event.
    private static let short: @Sendable (Instant) -> Turn = { _ in Turn(length: .microseconds(50)) }
    /// A script of 100 ms for each event, with a backlog.
    private static let slow: @Sendable (Instant) -> Turn = { _ in Turn(length: .milliseconds(100), due: .zero) }

    @Test("Workers that always have more to do get equal shares", arguments: [2, 3, 8])
    func shares(threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let workers = (0..<20).map { _ in pool.add(Self.whole) }
        for worker in workers { pool.wake(worker) }
        pool.run(for: .seconds(10))
        let counts = workers.map { pool.began($0).count }
        let fair = threads * 1000 / workers.count
        #expect(counts.allSatisfy { abs($0 - fair) <= 2 }, "\(counts)")
    }

    @Test("An idle worker's turn is the next one, though 200 others are catching up", arguments: [2, 4])
    func idleAmongMany(threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let idle = pool.add(Self.short)
        let workers = (0..<200).map { _ in pool.add(Self.whole) }
        for worker in [idle] + workers { pool.wake(worker) }
        for round in 1...20 {
            // In the first rounds the others have not had their first turn.
            pool.run(for: .milliseconds(137))
            pool.wake(idle)
            pool.run(for: RunQueue.slice)
            #expect(pool.began(idle).count == round + 1, "its turn comes within one turn of another worker")
        }
        let counts = workers.map { pool.began($0).count }
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1, "and the others lose nothing by it: \(counts)")
    }

    @Test("A worker that was idle for long does not collect more than its credit")
    func credit() {
        var pool = SimulatedPool(threads: 2)
        let busy = (0..<4).map { _ in pool.add(Self.whole) }
        let late = pool.add(Self.whole)
        for worker in busy { pool.wake(worker) }
        pool.run(for: .seconds(100))
        pool.wake(late)
        let before = busy.map { pool.began($0).count }
        pool.run(for: .seconds(1))
        let shares = zip(busy, before).map { pool.began($0).count - $1 }
        #expect(pool.began(late).count <= 43, "a fifth of two seconds, and at most two turns of credit: \(pool.began(late).count)")
        #expect(shares.allSatisfy { $0 >= 38 }, "\(shares)")
    }

    @Test("However many scripts are slow, a quick worker waits for none of them", arguments: [(1, 2), (2, 2), (5, 2), (5, 3), (20, 8)])
    func slowNeighbours(slow: Int, threads: Int) {
        var pool = SimulatedPool(threads: threads)
        let scripts = (0..<slow).map { _ in pool.add(callsScripts: true, Self.slow) }
        let quick = pool.add(Self.short)
        for worker in scripts { pool.wake(worker) }
        for round in 1...50 {
            pool.run(for: .milliseconds(33))
            let asked = pool.now
            pool.wake(quick)
            #expect(pool.began(quick).count == round && pool.began(quick).last == asked, "its turn comes at once")
        }
        #expect(scripts.allSatisfy { pool.began($0).count >= 50 * 33 * min(slow, threads - 1) / 100 / slow - 1 }, "the scripts go on")
    }

    @Test("A worker is slow after one turn that overran, and for longer after each relapse")
    func probation() {
        var pool = SimulatedPool(threads: 2)
        var length = Duration.milliseconds(100)
        let one = pool.add { _ in Turn(length: length) }
        let other = pool.add(callsScripts: true, Self.slow)
        pool.wake(one)
        pool.run(for: .milliseconds(100))
        length = .microseconds(50)
        pool.wake(other)
        pool.wake(one)
        #expect(pool.running == [nil, other] || pool.running == [other, nil], "both are slow, and one thread is kept free")
        pool.run(for: .seconds(1))
        #expect(pool.began(one).count == 2, "it has its turn when the other one's ends")

        // It was quick for a minute; the first turn after that shows it.
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
        #expect(!relapse(after: .seconds(100)), "two minutes this time")
        #expect(relapse(after: .seconds(21)))
    }

    @Test("A turn that lasts counts as slow while it runs")
    func overrunning() {
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
        #expect(!pool.began(script).isEmpty, "it goes on when the other one's turn is over")
    }

    @Test("A turn comes when it is due", arguments: [2, 4])
    func due(threads: Int) {
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

    @Test("While all sleep, one thread keeps the time for all")
    func keeper() {
        var pool = SimulatedPool(threads: 4)
        let worker = pool.add { _ in Turn(length: .microseconds(50), due: .milliseconds(100)) }
        pool.wake(worker)
        for _ in 0..<20 {
            pool.run(for: .milliseconds(130))
            #expect(pool.threads.filter { $0 != .asleep(until: nil) }.count == 1)
        }
    }

    @Test("Turns are due while other threads are busy, too")
    func dueBesideWork() {
        var pool = SimulatedPool(threads: 2)
        let script = pool.add(callsScripts: true) { _ in Turn(length: .seconds(5), due: .zero) }
        let timed = pool.add { _ in Turn(length: .microseconds(50), due: .milliseconds(100)) }
        pool.wake(timed)
        pool.wake(script)
        pool.run(for: .seconds(10))
        #expect(pool.began(timed).count == 100)
    }

    @Test("A wake in the middle of a turn brings another one, however many there are")
    func wokenWhileRunning() {
        var pool = SimulatedPool(threads: 3)
        let worker = pool.add { _ in Turn(length: .milliseconds(5)) }
        pool.wake(worker)
        for _ in 0..<5 { pool.wake(worker) }
        #expect(pool.running.compactMap { $0 } == [worker], "its turns do not overlap")
        pool.run(for: .seconds(1))
        #expect(pool.began(worker).count == 2)
    }

    @Test("A cancelled worker has no more turns, and its number serves another one")
    func cancel() {
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

    @Test("Threads come and go with the configuration, and none at the end stays")
    func resize() {
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

    @Test("The pool is saturated when no thread is left, and not while slow workers wait for each other")
    func saturation() {
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
