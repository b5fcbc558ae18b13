import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

/// A commit wakes only the workers that can do something with its events (`DeliveryWorker.isDueAfterCommit`).
@Suite struct CommitWakeTests {
    /// One commit, and the turn of the worker if that wakes it.
    private func commit(_ bench: Bench, events: UInt64 = 1) -> Bool {
        bench.log.append(events)
        guard bench.worker.isDueAfterCommit() else { return false }
        bench.turn()
        return true
    }

    @Test func `a worker that has nothing uses every event`() {
        let bench = Bench()
        bench.turn()
        for _ in 0..<3 {
            let wakes = commit(bench)
            #expect(wakes)
        }
        #expect(bench.destination.positions == [[0], [1], [2]])
    }

    @Test func `while a batch is collected, only the event that fills it counts`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 10, batchWait: .seconds(1)))
        bench.turn()
        let wakes = (0..<20).map { _ in commit(bench) }
        #expect(wakes == (0..<20).map { $0 % 10 == 0 || $0 % 10 == 9 })
        #expect(bench.destination.positions == [Array(0..<10), Array(10..<20)])
    }

    @Test func `a batch that does not become full is sent when its time is over`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 10, batchWait: .seconds(1)))
        bench.turn()
        let wakes = commit(bench)
        #expect(wakes)
        // Each read finds one commit.
        bench.log.state.withLock { $0.perRead = 1 }
        bench.log.append(3)
        #expect(!bench.worker.isDueAfterCommit())
        bench.run(for: .seconds(1))
        #expect(bench.destination.positions == [[0, 1, 2, 3]])
    }

    @Test func `a batch whose time is over does not wait for a log that grows all the time`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 1000, batchWait: .milliseconds(100)))
        bench.log.state.withLock { $0.perRead = 1 }
        bench.router.verdict = { _ in
            bench.log.append(1)
            bench.clock.advance(.milliseconds(1))
            return .routed
        }
        bench.log.append(1)
        for _ in 0..<10 { bench.turn() }
        #expect((100...160).contains(bench.destination.offers.first?.events.count ?? 0))
    }

    /// Transforms may make several events of one position.
    @Test(arguments: [(each: 1, positions: 90), (each: 10, positions: 9), (each: 100, positions: 0)])
    func `how many positions make a batch full follows from those that it has`(each: Int, positions: Int) {
        var builder = BatchBuilder(maximumEvents: 100, maximumBytes: 1 << 20, spare: 1)
        #expect(builder.positionsUntilFull(at: 0) == nil)
        let count = each == 1 ? 10 : 1
        for position in 0..<UInt64(count) {
            for _ in 0..<min(each, 99) {
                let start = builder.batch.payload.count
                builder.batch.payload.append(UInt8(ascii: "x"))
                builder.batch.events.append(
                    OutboundEvent(
                        position: position, receivedAt: 0, kind: .track, payload: start..<start + 1,
                        messageID: start..<start))
            }
            builder.count(Instant(nanoseconds: 0))
        }
        #expect(builder.positionsUntilFull(at: UInt64(count)) == positions)
        #expect(builder.positionsUntilFull(at: .max) != nil)
    }

    @Test func `events that become larger do not make a full batch wait for long`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 1000, batchBytes: 10_000, batchWait: .seconds(3600)))
        bench.turn()
        _ = commit(bench)
        bench.router.size = 2000
        for _ in 0..<10 { #expect(!commit(bench)) }
        bench.run(for: .seconds(1))
        #expect(bench.destination.positions.flatMap(\.self).count >= 5)
    }

    @Test func `a batch may be full by its bytes`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 1000, batchBytes: 10 * 101, batchWait: .seconds(1)))
        bench.router.size = 100
        bench.turn()
        let wakes = (0..<10).map { _ in commit(bench) }
        #expect(wakes == [true] + Array(repeating: false, count: 8) + [true])
        #expect(bench.destination.positions == [Array(0..<10)])
    }

    @Test(arguments: [
        (size: 1, commits: 64), (size: 4 << 10, commits: 32), (size: 64 << 10, commits: 2), (size: 1 << 20, commits: 1),
    ])
    func `only few bytes and commits are left unread`(size: Int, commits: Int) {
        let bench = Bench(DeliveryPolicy(batchEvents: 100_000, batchBytes: 1 << 30, batchWait: .seconds(1)))
        bench.log.state.withLock { $0.size = size }
        bench.turn()
        let wakes = commit(bench)
        #expect(wakes)
        var count = 1
        while !commit(bench) { count += 1 }
        #expect(count == commits)
    }

    @Test func `while a service does not answer, new events change nothing`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, batchWait: .seconds(1)))
        bench.destination.answer = nil
        bench.turn()
        let wakes = commit(bench, events: 4)
        #expect(wakes)
        for _ in 0..<100 {
            let wakes = commit(bench)
            #expect(!wakes)
        }
        let before = bench.wakes.count.load(ordering: .relaxed)
        bench.destination.settleFirst(.all(.delivered))
        #expect(bench.wakes.count.load(ordering: .relaxed) > before)
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(2))
        #expect(bench.destination.positions.flatMap(\.self) == Array(0..<104))
    }

    private final class Watcher: DeliveryTap {
        let isWatching = Atomic(false)
        var watchesRouting: Bool { isWatching.load(ordering: .relaxed) }
        var watchesSending: Bool { false }
        let seen = Atomic(0)
        func take(_ run: RoutedRun, of events: EventBatch) { seen.add(run.decisions.count, ordering: .relaxed) }
        func take(sent batch: OutboundBatch, _ settlement: DeliveryClaim.Settlement) {}
    }

    @Test func `who taps the routing sees each event at once`() {
        let watcher = Watcher()
        let bench = Bench(DeliveryPolicy(batchEvents: 10, batchWait: .seconds(1)), tap: watcher)
        bench.turn()
        let wakes = (0..<3).map { _ in commit(bench) }
        #expect(wakes == [true, false, false])
        watcher.isWatching.store(true, ordering: .relaxed)
        for count in 3...5 {
            let wakes = commit(bench)
            #expect(wakes && watcher.seen.load(ordering: .relaxed) == count)
        }
    }

    /// Each batch is sent as soon as it is full, while the worker's thread falls asleep and wakes all the time.
    @Test(.timeLimit(.minutes(2)))
    func `no wake is lost between a turn and a commit`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 3, batchWait: .seconds(3600)))
        let (bell, delivered) = (Doorbell(), Doorbell())
        let isOver = Atomic(false)
        bench.destination.answer = { _ in
            delivered.ring()
            return .all(.delivered)
        }
        let worker = bench.worker
        let clock = bench.clock
        let thread = WorkerThread(name: "turns") {
            while !isOver.load(ordering: .acquiring) {
                _ = worker.turn(now: clock.now())
                bell.wait()
            }
        }
        var missing = 0
        for _ in 0..<5000 where missing == 0 {
            for _ in 0..<3 {
                bench.log.append(1)
                if worker.isDueAfterCommit() { bell.ring() }
            }
            if !delivered.wait(until: SystemClock().now() + .seconds(60)) { missing += 1 }
        }
        #expect(missing == 0)
        isOver.store(true, ordering: .releasing)
        bell.ring()
        thread.join()
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func `no event waits much longer than its batch may`(seed: UInt64) {
        var random = SeededRandom(seed)
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        let wait = Duration.milliseconds([0, 10, 300][below(3)])
        let bench = Bench(DeliveryPolicy(batchEvents: [1, 7, 100][below(3)], batchWait: wait))
        bench.log.state.withLock { $0.perRead = [1, 5, .max][below(3)] }
        var (committed, offered): ([Instant], [Instant]) = ([], [])
        let clock = bench.clock
        bench.destination.answer = { batch in
            for _ in batch.events { offered.append(clock.now()) }
            return .all(.delivered)
        }
        var driver = Driver(bench: bench)
        driver.due = bench.turn()
        for step in 0..<1500 {
            let count = step < 1100 && below(3) == 0 ? 1 + below(3) : 0
            bench.log.append(UInt64(count))
            for _ in 0..<count { committed.append(clock.now()) }
            driver.turnIfAsked(isNew: count > 0)
            clock.advance(.milliseconds(1))
            driver.turnIfAsked(isNew: false)
        }
        #expect(offered.count == committed.count)
        #expect(zip(committed, offered).allSatisfy { $1 - $0 <= wait + .milliseconds(1) })
    }

    /// Runs turns only when something asks for one, as the daemon does.
    private struct Driver {
        let bench: Bench
        var due: Instant?
        var wakes = 0

        mutating func turnIfAsked(isNew: Bool) {
            let rung = bench.wakes.count.load(ordering: .relaxed)
            let isDue = due.map { $0 <= bench.clock.now() } ?? false
            guard isDue || rung != wakes || isNew && bench.worker.isDueAfterCommit() else { return }
            wakes = rung
            due = bench.turn()
        }
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `all is delivered without another event, whatever happened before`(seed: UInt64) {
        var random = SeededRandom(seed)
        func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
        let wait = Duration.milliseconds([0, 10, 300][below(3)])
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: [1, 7, 100][below(3)], batchBytes: [200, 1 << 20][below(2)], batchWait: wait,
                inFlight: 1 + below(3), retryInitial: .milliseconds(5), retryMaximum: .milliseconds(20),
                order: below(2) == 0 ? .destination : .user,
                rateLimit: below(4) == 0 ? RateLimit(eventsPerSecond: 5000, burst: 10) : nil))
        bench.destination.limits.maximumInFlight = 3
        bench.router.user = { $0 % 5 }
        bench.log.state.withLock { $0.perRead = [1, 5, .max][below(3)] }
        let kept = UInt64(1 + below(4))
        bench.router.verdict = { $0 % kept == 0 ? .routed : .filtered(reason: "where") }
        var driver = Driver(bench: bench)
        driver.due = bench.turn()
        for _ in 0..<300 {
            bench.log.state.withLock { $0.size = below(400) }
            let count = below(3) == 0 ? below(20) : 0
            bench.log.append(UInt64(count))
            driver.turnIfAsked(isNew: count > 0)
            if below(20) == 0 {
                bench.destination.answer = below(2) == 0 ? nil : { _ in .all(.delivered) }
            }
            while bench.destination.held > 0, below(3) > 0 {
                bench.destination.settleFirst(.all(below(4) == 0 ? .retry(reason: "503") : .delivered))
                driver.turnIfAsked(isNew: false)
            }
            bench.clock.advance(.milliseconds(below(4)))
            driver.turnIfAsked(isNew: false)
        }
        bench.destination.answer = { _ in .all(.delivered) }
        // No new event helps from here on.
        let end = bench.clock.now() + wait + .seconds(1)
        while bench.clock.now() < end {
            while bench.destination.held > 0 { bench.destination.settleFirst(.all(.delivered)) }
            driver.turnIfAsked(isNew: false)
            bench.clock.advance(.milliseconds(1))
        }
        let all = bench.log.end
        let expected = Set((0..<all).filter { $0 % kept == 0 })
        #expect(Set(bench.destination.positions.flatMap(\.self)) == expected)
        #expect(bench.worker.status.positionSettled == all)
    }
}
