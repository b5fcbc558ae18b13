import Events
import Synchronization
import Testing

@testable import Delivery

@Suite("What a router has to remember")
struct RecollectionTests {
    /// A bench at position 50 of 60.
    private func bench(positions: UInt64 = 20, time: Int64 = 1_000_000) -> Bench {
        let bench = Bench(DeliveryPolicy(batchEvents: 10), cursor: 50)
        bench.router.lookback = Lookback(positions: positions, time: time)
        bench.log.append(60)
        return bench
    }

    private func delivered(_ bench: Bench) -> [UInt64] { bench.destination.positions.flatMap { $0 } }

    @Test("is shown to it before the first event that it decides about, and is not delivered")
    func before() {
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

    @Test("goes back as far as it looks, by positions, by time, and to where its destination began")
    func bounds() {
        let cases: [(positions: UInt64, time: Int64, start: UInt64, first: UInt64)] = [
            (20, 1000, 0, 30), (1000, 1000, 0, 0), (1000, 5, 0, 44), (1000, 0, 0, 49), (20, 1000, 41, 41), (20, 1000, 50, 50),
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

    @Test("is nothing for one that decides by each event alone")
    func none() {
        let bench = bench()
        bench.router.lookback = nil
        bench.run(for: .seconds(2))
        #expect(bench.router.recalled.isEmpty)
        #expect(delivered(bench) == Array(50..<60))
    }

    @Test("is waited for while the journal cannot be read")
    func unreadable() {
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

    @Test("has gaps where the journal has them")
    func gaps() {
        for missing: Range<UInt64> in [25..<35, 45..<55, 20..<60] {
            let bench = bench()
            bench.log.state.withLock { $0.missing = missing }
            bench.run(for: .seconds(2))
            #expect(bench.router.recalled == (30..<50).filter { !missing.contains($0) })
            #expect(delivered(bench) == (50..<60).filter { !missing.contains($0) })
        }
    }

    @Test("is shown once, however often its destination is opened")
    func once() {
        let bench = bench()
        bench.destination.checkpointError = Broken("no space")
        bench.run(for: .seconds(30))
        #expect(bench.destination.opened.count > 1)
        #expect(bench.router.recalled == Array(30..<50))
    }

    @Test("comes before a replay as well")
    func replay() {
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
