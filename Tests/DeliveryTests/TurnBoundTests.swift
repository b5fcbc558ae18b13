import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("A worker's turn")
struct TurnBoundTests {
    /// A bench whose router takes `time` for each event, in simulated time.
    private func bench(
        _ time: Duration, mayTakeLong: Bool, _ policy: DeliveryPolicy = DeliveryPolicy(batchEvents: 10_000)
    ) -> Bench {
        let bench = Bench(policy)
        bench.router.mayTakeLong = mayTakeLong
        bench.router.verdict = { [clock = bench.clock] _ in
            clock.advance(time)
            return .routed
        }
        return bench
    }

    private func turn(_ bench: Bench) -> Instant? { bench.worker.turn(now: bench.clock.now(), for: .milliseconds(10)) }

    /// Runs one turn and returns the number of routed events.
    private func routed(_ bench: Bench) -> Int {
        let count = Mutex(0)
        let verdict = bench.router.verdict
        bench.router.verdict = { position in
            count.withLock { $0 += 1 }
            return verdict(position)
        }
        _ = turn(bench)
        bench.router.verdict = verdict
        return count.withLock { $0 }
    }

    @Test(arguments: [100, 1000, 5000, 100_000])
    func `a turn checks the clock at least every 16 events`(microseconds: Int) {
        let bench = bench(.microseconds(microseconds), mayTakeLong: false)
        bench.log.append(2000)
        let within = (10_000 + microseconds - 1) / microseconds
        let routed = routed(bench)
        #expect(routed >= min(within, 2000) && routed < within + TurnBound.stride)
    }

    @Test(arguments: [100, 1000, 5000, 100_000])
    func `a turn checks the clock after each event if the router calls scripts`(microseconds: Int) {
        let bench = bench(.microseconds(microseconds), mayTakeLong: true)
        bench.log.append(2000)
        #expect(routed(bench) == (10_000 + microseconds - 1) / microseconds)
    }

    @Test func `a turn that runs out of time asks for another one at once, which continues where it stopped`() {
        let bench = bench(.milliseconds(100), mayTakeLong: true, DeliveryPolicy(batchEvents: 4))
        bench.log.append(10)
        for _ in 0..<10 {
            let due = turn(bench)
            #expect(due == bench.clock.now())
        }
        _ = turn(bench)
        #expect(bench.destination.positions == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        #expect(bench.worker.status.delivered == 10)
    }

    @Test func `events that a slow script routed are delivered within a second, although more were read`() {
        let bench = bench(.milliseconds(100), mayTakeLong: true)
        bench.log.append(100)
        for _ in 0..<15 { _ = turn(bench) }
        #expect(
            bench.destination.positions.first?.count ?? 0 >= 10
                && bench.destination.offers.first?.events.count ?? 100 < 15)
    }

    @Test func `a turn that runs out of time ends within a replay`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 10_000))
        bench.log.append(2000)
        bench.run(for: .seconds(2))
        bench.backfillRouter.mayTakeLong = true
        bench.backfillRouter.verdict = { [clock = bench.clock] _ in
            clock.advance(.milliseconds(100))
            return .routed
        }
        bench.cursors.kept.withLock {
            $0 = Replay(id: "r", from: 0, until: .max, positions: 0..<2000, acceptedAt: 0)
        }
        bench.worker.backfill()
        let began = bench.clock.now()
        _ = turn(bench)
        #expect(bench.clock.now() - began == .milliseconds(100), "the turn routes one event")
        _ = turn(bench)
        #expect(bench.clock.now() - began == .milliseconds(200))
    }

    @Test func `a turn that runs out of time ends within the warm-up, which still recalls each event once`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 10), cursor: 50)
        bench.router.lookback = Lookback(positions: 50, time: .max)
        bench.router.mayTakeLong = true
        bench.router.recalling = { [clock = bench.clock] in clock.advance(.milliseconds(100)) }
        bench.log.append(60)
        for count in 1...49 {
            _ = turn(bench)
            #expect(bench.router.recalled.count == count)
        }
        bench.run(for: .seconds(2))
        #expect(bench.router.recalled == Array(0..<50))
        #expect(bench.destination.positions.flatMap { $0 } == Array(50..<60))
    }

    @Test func `a worker ignores the verdict of an interrupted script`() {
        let bench = bench(.milliseconds(1), mayTakeLong: true, DeliveryPolicy(batchEvents: 2))
        bench.log.append(10)
        let worker = bench.worker
        let deadline = bench.clock.now() + .seconds(10)
        bench.router.verdict = { position in
            guard position == 5 else { return .routed }
            // The script fails because the worker is asked to stop while the script runs.
            worker.requestStop(by: deadline)
            return .rejected(reason: "interrupted")
        }
        bench.turn()
        bench.turn()
        #expect(bench.worker.isStopped)
        #expect(bench.sink.letters.isEmpty)
        #expect(bench.destination.positions.flatMap { $0 }.allSatisfy { $0 < 5 })
        #expect(bench.cursors.position <= 5)
    }

    @Test func `a worker reads nothing after a request to stop`() {
        let bench = bench(.milliseconds(1), mayTakeLong: false)
        bench.log.append(100)
        bench.worker.requestStop(by: bench.clock.now())
        #expect(routed(bench) == 0)
        #expect(bench.worker.isStopped)
    }
}
