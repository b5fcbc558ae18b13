import Platform
import Telemetry
import Testing

@testable import Delivery

@Suite("The latency of deliveries")
struct LatencyTests {
    private let latencies = Histogram(bounds: [.seconds(1), .seconds(100)])

    /// The receive times of the bench's events are about 1970, its clock is later.
    private func count(in bench: Bench) -> UInt64 { latencies.snapshot().count }

    @Test func `each delivered event counts once, with its own receive time`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 4), latencies: latencies)
        bench.log.append(10)
        bench.run(for: .seconds(5))
        #expect(bench.worker.status.delivered == 10 && count(in: bench) == 10)
        let now = Double(bench.clock.wallClock()) / 1e9
        #expect(abs(latencies.snapshot().sum - 10 * now) < 100)
    }

    @Test func `rejected events and attempts that fail do not count`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 4, retryInitial: .seconds(1)), latencies: latencies)
        bench.destination.answer = { batch in
            batch.events.count == 4
                ? .each([.delivered, .rejected(reason: "no"), .retry(reason: "later"), .delivered]) : .all(.delivered)
        }
        bench.log.append(4)
        bench.run(for: .seconds(60))
        #expect(bench.worker.status.delivered == 3 && bench.worker.status.deadLettered == 1)
        #expect(count(in: bench) == 3)
    }

    @Test func `events with one receive time are one run`() {
        var runs = ReceiveRuns()
        var passed: [(Int64, Int)] = []
        for time: Int64 in [0, 0, 5, 5, 5, 4, 5] { runs.add(time) { passed.append(($0, $1)) } }
        runs.finish { passed.append(($0, $1)) }
        runs.finish { passed.append(($0, $1)) }
        #expect(passed.map(\.0) == [0, 5, 4, 5] && passed.map(\.1) == [2, 3, 1, 1])
    }
}
