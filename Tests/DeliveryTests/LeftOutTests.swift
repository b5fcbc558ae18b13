import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

/// What the reader leaves out counts as filtered, exactly as if the router had been asked.
@Suite struct LeftOutTests {
    @Test(arguments: [1, 3, 100, Int.max])
    func `events that the reader leaves out are counted as filtered`(perRead: Int) {
        let bench = Bench()
        bench.router.selection = FakeSelection { $0 % 10 == 5 }
        bench.router.verdict = {
            $0 == 15 ? .filtered(reason: "where") : $0 % 10 == 5 ? .routed : .rejected(reason: "asked")
        }
        bench.log.state.withLock { $0.perRead = perRead }
        bench.log.append(1000)
        bench.run(for: .seconds(3))
        let expected: [UInt64] = (0..<100).map { UInt64($0) * 10 + 5 }.filter { $0 != 15 }
        #expect(bench.destination.positions.flatMap(\.self) == expected)
        #expect(bench.worker.status.filtered == ["no_route": 900, "where": 1])
        #expect(bench.cursors.position == 1000)
        #expect(bench.sink.letters.isEmpty)
    }

    @Test func `a worker advances over a long run of events that are left out`() {
        let bench = Bench()
        bench.router.selection = FakeSelection { _ in false }
        bench.log.append(40_000)
        bench.run(for: .seconds(3))
        #expect(bench.destination.offers.isEmpty)
        #expect(bench.cursors.position == 40_000)
        #expect(bench.worker.status.filtered == ["no_route": 40_000])
    }

    @Test func `after a failure, what was left out is counted again only where it is read again`() {
        let bench = Bench()
        bench.router.selection = FakeSelection { $0 % 2 == 1 }
        bench.log.state.withLock { $0.perRead = 4 }
        bench.log.append(3)
        bench.turn()
        bench.log.append(9)
        bench.log.state.withLock { $0.failing = true }
        bench.run(for: .seconds(5))
        #expect(bench.worker.status.state == .failing)
        bench.log.state.withLock { $0.failing = false }
        bench.run(for: .seconds(400))
        #expect(bench.destination.positions.flatMap(\.self) == [1, 3, 5, 7, 9, 11])
        #expect(bench.worker.status.filtered == ["no_route": 6])
    }

    @Test func `events that were settled before a restart are not counted again`() {
        let bench = Bench()
        bench.destination.settlesAtOnce = true
        bench.cursors.settled.withLock {
            $0 = [SettledPositions(position: 10, ranges: [20..<50])]
        }
        bench.router.selection = FakeSelection { $0 % 2 == 1 }
        bench.router.verdict = { $0 % 2 == 1 ? .routed : .filtered(reason: "no_route") }
        bench.log.state.withLock { $0.perRead = 8 }
        bench.log.append(60)
        bench.run(for: .seconds(3))
        #expect(bench.destination.positions.flatMap(\.self) == [11, 13, 15, 17, 19, 51, 53, 55, 57, 59])
        #expect(bench.worker.status.filtered == ["no_route": 10])
        #expect(bench.router.recalled == Array(20..<50))
    }

    /// Records the verdicts, while it watches.
    private final class Watcher: DeliveryTap {
        let isWatching = Atomic(false)
        let seen = Mutex<[UInt64: RouteVerdict]>([:])
        var watchesRouting: Bool { isWatching.load(ordering: .relaxed) }
        var watchesSending: Bool { false }
        func take(_ run: RoutedRun, of events: EventBatch) {
            seen.withLock { seen in
                for decision in run.decisions { seen[events.events[decision.event].position] = decision.verdict }
            }
        }
        func take(sent batch: OutboundBatch, _ settlement: DeliveryClaim.Settlement) {}
    }

    @Test func `a tap that begins while events wait to be routed sees those that were left out, too`() throws {
        let (log, router, tap, clock) = (FakeLog(), FakeRouter(), Watcher(), FakeClock())
        router.selection = FakeSelection { $0 % 5 == 2 }
        router.verdict = { $0 % 5 == 2 ? .routed : .filtered(reason: "no_route") }
        log.append(20)
        var intake = Intake(
            log: log, router: router, position: 0, nil,
            builder: BatchBuilder(maximumEvents: 1, maximumBytes: 1 << 20, spare: 2), tap: tap)
        let bound = TurnBound(clock, clock.now() + .seconds(1), Interruption())
        func advance() throws -> Bool {
            try intake.advance(clock.now(), bound, refused: { _ in Issue.record("rejected") }, wallClock: { 0 })
        }
        #expect(try advance())
        #expect(intake.position == 3 && router.senders.count == 1)
        tap.isWatching.store(true, ordering: .relaxed)
        var routed: [UInt64] = []
        while true {
            if let batch = intake.builder.take(partial: true) { routed += batch.events.map(\.position) }
            guard try advance() else { break }
        }
        #expect(routed == [2, 7, 12, 17])
        let seen = tap.seen.withLock { $0 }
        #expect(seen.keys.sorted() == Array(3..<20))
        #expect(seen.values.count { $0 == .routed } == 3)
        var filtered: [String: UInt64] = [:]
        intake.takeFiltered { filtered[$0] = $1 }
        #expect(filtered == ["no_route": 16] && intake.position == 20)
    }
}
