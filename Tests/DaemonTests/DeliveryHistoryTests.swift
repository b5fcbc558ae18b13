import Control
import Platform
import Synchronization
import Testing

@testable import Daemon

/// What the page shows of the last hour.
@Suite struct DeliveryHistoryTests {
    /// A clock that a test moves.
    private final class ManualClock: Clock {
        private let time = Mutex(Instant(nanoseconds: 1_000_000_000))
        func now() -> Instant { time.withLock { $0 } }
        func wallClock() -> Int64 { 1_700_000_000_000_000_000 + time.withLock { Int64($0.nanoseconds) } }
        func advance(_ duration: Duration) { time.withLock { $0 = $0 + duration } }
    }

    private let clock = ManualClock()

    private func report(
        accepted: UInt64, delivered: UInt64, filtered: [String: UInt64] = [:], lag: UInt64 = 0,
        destinations: [String] = ["archive"]
    ) -> StatusReport {
        let destination = StatusReport.Destination(
            state: .up, position: 0, delivered: delivered, filtered: 0, deadLettered: 0, retries: 0, eventsPerSecond: 0,
            lagEvents: lag, lagSeconds: 0, filteredByReason: filtered)
        return StatusReport(
            reasons: [], version: "", uptimeSeconds: 0, eventsPerSecond: 0,
            sources: [
                "apps": .init(accepted: accepted, refused: 0, refusedByReason: [:], connections: 0, listens: [])
            ],
            journal: .init(state: .ok, first: 0, next: 0, bytes: 0, segments: 0),
            destinations: Dictionary(uniqueKeysWithValues: destinations.map { ($0, destination) }), recentRefusals: [])
    }

    private func values(_ history: DeliveryHistory, _ figure: String, from first: UInt64 = 0) -> [UInt64]? {
        history.report(from: first).series.first { $0.figure == figure }?.values
    }

    @Test func `each step holds what was counted in it, and the lag at its end`() {
        let history = DeliveryHistory(clock: clock)
        history.sample { report(accepted: 100, delivered: 50) }
        #expect(history.report(from: 0).series.isEmpty, "what was counted before belongs to no step")
        for (accepted, delivered, lag) in [(110, 50, 60), (110, 110, 0), (115, 111, 4)] as [(UInt64, UInt64, UInt64)] {
            clock.advance(DeliveryHistory.step)
            history.sample {
                report(accepted: accepted, delivered: delivered, filtered: ["where": delivered], lag: lag)
            }
            history.sample { fatalError("the next step is not due") }
        }
        #expect(values(history, "accepted") == [10, 0, 5])
        #expect(values(history, "delivered") == [0, 60, 1])
        #expect(values(history, "lag") == [60, 0, 4])
        #expect(values(history, "filtered") == [50, 60, 1], "a reason that is new began at 0")
        #expect(values(history, "retries") == nil, "a figure that is always 0 is left out")
        let whole = history.report(from: 0)
        #expect(whole.first == 0 && whole.next == 3 && whole.stepSeconds == 10)
        #expect(values(history, "accepted", from: 2) == [5])
        #expect(history.report(from: 3).series.isEmpty && history.report(from: .max).first == 3)
    }

    @Test func `the history holds one hour, and a counter that begins again is no gap`() {
        let history = DeliveryHistory(clock: clock)
        history.sample { report(accepted: 0, delivered: 0) }
        for step in 1...UInt64(DeliveryHistory.steps + 5) {
            clock.advance(DeliveryHistory.step)
            history.sample { report(accepted: step, delivered: 7) }
        }
        #expect(values(history, "accepted") == Array(repeating: 1, count: DeliveryHistory.steps))
        #expect(history.report(from: 0).first == 5)
        #expect(values(history, "delivered") == nil, "older steps are forgotten")
        clock.advance(DeliveryHistory.step)
        history.sample { report(accepted: 400, delivered: 3) }
        #expect(values(history, "delivered")?.last == 3)
    }

    @Test func `the number of figures is bounded, and the rest is counted`() {
        let history = DeliveryHistory(clock: clock)
        let names = (0..<DeliveryHistory.largestCount).map { "d\($0)" }
        history.sample { report(accepted: 0, delivered: 0, destinations: names) }
        clock.advance(DeliveryHistory.step)
        history.sample { report(accepted: 1, delivered: 1, destinations: names) }
        let whole = history.report(from: 0)
        #expect(whole.series.count <= DeliveryHistory.largestCount && whole.omitted > 0)
    }
}
