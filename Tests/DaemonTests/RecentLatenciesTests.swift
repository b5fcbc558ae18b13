import Control
import Platform
import Telemetry
import Testing

@testable import Daemon

@Suite struct RecentLatenciesTests {
    private static func second(_ number: Int64) -> Instant { Instant(nanoseconds: number * 1_000_000_000) }

    @Test func `only the last minute counts, and an idle destination has no latency`() throws {
        let histogram = Histogram(bounds: [.milliseconds(10), .milliseconds(100), .seconds(1)])
        var recent = RecentLatencies()
        func latency(at second: Int64) -> StatusReport.Latency? {
            recent.sample(at: Self.second(second)) { [.destination("a"): histogram.snapshot()] }
            return recent.latency(of: .destination("a"), histogram.snapshot(), at: Self.second(second))
        }
        #expect(latency(at: 0) == nil)
        for _ in 0..<100 { histogram.record(nanoseconds: 500_000_000) }
        let slow = try #require(latency(at: 1))
        #expect(slow.p50 > 0.1 && slow.p99 <= 1)
        for second in 2...55 as ClosedRange<Int64> { #expect(latency(at: second) == slow) }
        for second in 56...140 as ClosedRange<Int64> { _ = latency(at: second) }
        #expect(latency(at: 141) == nil, "nothing was delivered in the last minute")
        for _ in 0..<100 { histogram.record(nanoseconds: 1_000_000) }
        let fast = try #require(latency(at: 142))
        #expect(fast.p99 <= 0.01, "what was slow before the window does not count: \(fast)")
    }

    @Test func `a destination that a reload replaced counts from 0`() throws {
        let (old, new) = (Histogram(bounds: [.milliseconds(10)]), Histogram(bounds: [.milliseconds(10)]))
        for _ in 0..<100 { old.record(nanoseconds: 1) }
        new.record(nanoseconds: 1)
        var recent = RecentLatencies()
        recent.sample(at: Self.second(0)) { [.destination("a"): old.snapshot()] }
        #expect(recent.latency(of: .destination("a"), new.snapshot(), at: Self.second(70)) != nil)
        #expect(recent.latency(of: .destination("a"), old.snapshot(), at: Self.second(70)) == nil)
    }

    @Test func `its memory is bounded`() {
        var recent = RecentLatencies()
        var taken = 0
        for second in 0..<1000 as Range<Int64> {
            recent.sample(at: Self.second(second)) {
                taken += 1
                return [:]
            }
        }
        #expect(taken == 100)
        #expect(
            Mirror(reflecting: recent).descendant("samples").map { Mirror(reflecting: $0).children.count } ?? 99 <= 8)
    }
}
