import Events
import Synchronization
import Testing

@testable import Delivery

@Suite("Warm-up of a router's state")
struct StateWarmupTests {
    /// A bench whose cursor is at position 50 of 60.
    private func bench(positions: UInt64 = 20, time: Int64 = 1_000_000) -> Bench {
        let bench = Bench(DeliveryPolicy(batchEvents: 10), cursor: 50)
        bench.router.lookback = Lookback(positions: positions, time: time)
        bench.log.append(60)
        return bench
    }

    private func delivered(_ bench: Bench) -> [UInt64] { bench.destination.positions.flatMap { $0 } }

    @Test func `a router recalls earlier events before it routes the first event, and they are not delivered`() {
        let bench = bench()
        bench.log.state.withLock { $0.perRead = 7 }
        bench.router.verdict = { [router = bench.router] _ in
            #expect(router.recalled == Array(30..<50))
            return .routed
        }
        bench.run(for: .seconds(2))
        #expect(delivered(bench) == Array(50..<60))
        #expect(bench.worker.status.delivered == 10 && bench.worker.status.filtered.isEmpty)
    }

    @Test func `a router's lookback is bounded by positions, by time, and by the destination's start`() {
        let cases: [(positions: UInt64, time: Int64, start: UInt64, first: UInt64)] = [
            (20, 1000, 0, 30), (1000, 1000, 0, 0), (1000, 5, 0, 44), (1000, 0, 0, 49), (20, 1000, 41, 41),
            (20, 1000, 50, 50),
            (20, .max, 60, 50),
        ]
        for (positions, time, start, first) in cases {
            let bench = bench(positions: positions, time: time)
            bench.cursors.start.store(start, ordering: .relaxed)
            bench.run(for: .seconds(2))
            #expect(bench.router.recalled == Array(first..<50), "\(positions), \(time), \(start)")
            #expect(delivered(bench) == Array(50..<60))
        }
    }

    @Test func `a router without state recalls nothing`() {
        let bench = bench()
        bench.router.lookback = nil
        bench.run(for: .seconds(2))
        #expect(bench.router.recalled.isEmpty)
        #expect(delivered(bench) == Array(50..<60))
    }

    @Test func `delivery waits for the warm-up while the journal cannot be read`() {
        let bench = bench()
        bench.log.state.withLock { $0.failing = true }
        bench.run(for: .seconds(3))
        #expect(delivered(bench).isEmpty && bench.router.recalled.isEmpty)
        #expect(bench.worker.status.state == .failing)
        bench.log.state.withLock { $0.failing = false }
        bench.run(for: .seconds(600))
        #expect(bench.router.recalled == Array(30..<50))
        #expect(delivered(bench) == Array(50..<60))
    }

    @Test func `the warm-up has the same gaps as the journal`() {
        for missing: Range<UInt64> in [25..<35, 45..<55, 20..<60] {
            let bench = bench()
            bench.log.state.withLock { $0.missing = missing }
            bench.run(for: .seconds(2))
            #expect(bench.router.recalled == (30..<50).filter { !missing.contains($0) })
            #expect(delivered(bench) == (50..<60).filter { !missing.contains($0) })
        }
    }

    @Test func `the warm-up runs once, however often the destination is opened`() {
        let bench = bench()
        bench.destination.checkpointError = Broken("no space")
        bench.run(for: .seconds(30))
        #expect(bench.destination.opened.count > 1)
        #expect(bench.router.recalled == Array(30..<50))
    }

    @Test func `the warm-up also runs before a replay`() {
        let bench = bench()
        bench.run(for: .seconds(2))
        bench.backfillRouter.lookback = Lookback(positions: 4, time: .max)
        bench.cursors.kept.withLock { $0 = Replay(id: "r1", from: 0, until: .max, positions: 20..<30, acceptedAt: 0) }
        bench.worker.backfill()
        bench.run(for: .seconds(2))
        #expect(bench.backfillRouter.recalled == Array(16..<20))
        #expect(delivered(bench) == Array(50..<60) + Array(20..<30))
        #expect(bench.worker.status.replay?.progress.missing == 0)
    }
}
