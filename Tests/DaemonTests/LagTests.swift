import Platform
import Testing

@testable import Daemon

private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

@Suite struct LagTrendTests {
    /// Samples once a second for three minutes.
    private func growing(_ lag: (Int64) -> Double?, batchWait: Double = 0) -> LagTrend.Growth? {
        var trend = LagTrend()
        var last: [String: LagTrend.Lag] = [:]
        for second in Int64(0)...180 {
            last = lag(second).map { ["a": LagTrend.Lag(seconds: $0, batchWait: batchWait)] } ?? [:]
            trend.sample(last, at: at(second))
        }
        return trend.growing(last, at: at(180))["a"]
    }

    @Test func `a destination falls behind if its lag is long and grows`() throws {
        let growth = try #require(growing { Double($0) })
        #expect(growth.seconds == 180)
        #expect((115...120).contains(growth.aMinuteAgo))
    }

    @Test func `a destination does not fall behind while it catches up, keeps pace, or starts`() {
        let lags: [(why: String, lag: (Int64) -> Double?)] = [
            ("it catches up", { 4000 - Double($0) * 10 }), ("it keeps pace", { _ in 600 }),
            ("its lag is short", { Double($0) / 4 }), ("its lag varies by a few seconds", { 600 + Double($0 % 4) }),
            ("nothing waits", { _ in 0 }),
            ("it was not up until half a minute ago", { $0 < 150 ? nil : 1000 + Double($0) }),
        ]
        for (why, lag) in lags { #expect(growing(lag) == nil, "\(why)") }
    }

    @Test func `the batch wait is not lag`() {
        #expect(growing({ Double($0) }, batchWait: 300) == nil)
    }

    @Test func `a destination cannot fall behind within the first minute`() {
        var trend = LagTrend()
        trend.sample(["a": .init(seconds: 100)], at: at(0))
        #expect(trend.growing(["a": .init(seconds: 158)], at: at(58)).isEmpty)
        #expect(trend.growing(["a": .init(seconds: 160)], at: at(60)) == ["a": .init(seconds: 160, aMinuteAgo: 100)])
    }
}

@Suite struct ReceiveTimesTests {
    @Test func `the time of an event is bounded by two samples of the journal's end`() {
        var times = ReceiveTimes()
        #expect(times.time(of: 0, for: "a") == nil)
        times.note(end: 10, at: 100)
        times.note(end: 10, at: 200)
        times.note(end: 15, at: 300)
        #expect(times.time(of: 10, for: "a") == 200, "the event was not there at 200")
        #expect(times.time(of: 14, for: "a") == 200)
        #expect(times.time(of: 15, for: "a") == 300)
    }

    @Test func `an older event must be looked up, and the result is kept for its position`() {
        var times = ReceiveTimes()
        #expect(!times.mustLookUp(3, for: "a"))
        times.note(end: 10, at: 100)
        #expect(times.mustLookUp(3, for: "a"))
        #expect(times.time(of: 3, for: "a") == 100, "the latest possible time")
        times.note(7, of: 3, for: "a")
        #expect(!times.mustLookUp(3, for: "a"))
        #expect(times.time(of: 3, for: "a") == 7)
        #expect(times.mustLookUp(3, for: "b") && times.mustLookUp(4, for: "a"))
        times.forget(allBut: ["b"])
        #expect(times.mustLookUp(3, for: "a"))
    }

    @Test func `only the samples of the last minutes are kept`() {
        var times = ReceiveTimes()
        for second in 0..<10_000 { times.note(end: UInt64(second), at: Int64(second)) }
        #expect(times.mustLookUp(9000, for: "a"))
        #expect(times.time(of: 9990, for: "a") == 9990)
    }
}

@Suite struct HeartbeatsTests {
    @Test func `a thread is stuck after five seconds in one operation, but not while it sleeps`() {
        var hearts = Heartbeats()
        #expect(hearts.stuck(["busy": 1, "asleep": 2, "fine": 1], at: at(0)).isEmpty)
        #expect(hearts.stuck(["busy": 1, "asleep": 2, "fine": 3], at: at(4)).isEmpty)
        #expect(hearts.stuck(["busy": 1, "asleep": 2, "fine": 5], at: at(7)) == ["busy": .seconds(7)])
        #expect(hearts.stuck(["busy": 3, "asleep": 2, "fine": 7], at: at(8)).isEmpty)
    }
}
