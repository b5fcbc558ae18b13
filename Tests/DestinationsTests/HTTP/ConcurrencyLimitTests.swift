import Platform
import Testing

@testable import Destinations

/// Tests against a model of a service that works on a fixed number of requests at once and queues the others.
@Suite struct ConcurrencyLimitTests {
    /// The clock of all runs: time continues from one run to the next.
    private final class Timer {
        var now = Instant(nanoseconds: 0)
    }

    private let timer = Timer()

    /// Sends `rounds` round trips that use the whole limit.
    /// - Parameters:
    ///   - capacity: the number of requests that the service works on at once.
    ///   - fails: whether the service fails at this number of requests.
    /// - Returns: the limit after each round trip.
    private func run(
        _ limit: inout ConcurrencyLimit, capacity: Int, responseTime: Duration = .milliseconds(50), rounds: Int,
        places: Int = .max, fails: (Int) -> Bool = { _ in false }
    ) -> [Int] {
        (0..<rounds).map { _ in
            let underWay = min(limit.current, places)
            let waves = (underWay + capacity - 1) / capacity
            let latency = responseTime * waves
            timer.now = timer.now + latency
            for left in (1...underWay).reversed() {
                limit.ended(timer.now, after: latency, underWay: left, failed: fails(underWay))
            }
            // The last response of a round trip may complete it a moment later.
            timer.now = timer.now + .milliseconds(1)
            return limit.current
        }
    }

    @Test func `a limit grows to what the service can take and stays there`() {
        var limit = ConcurrencyLimit(1...64)
        #expect(limit.current == 1)
        let limits = run(&limit, capacity: 10, rounds: 400)
        #expect(limits.allSatisfy { (1...13).contains($0) })
        #expect(limits.suffix(50).allSatisfy { $0 >= 8 })
    }

    @Test func `a limit halves when the service fails`() {
        var limit = ConcurrencyLimit(2...64)
        _ = run(&limit, capacity: 100, rounds: 400)
        #expect(limit.current == 64)
        #expect(run(&limit, capacity: 100, rounds: 1, fails: { _ in true }).last.map { $0 <= 32 } == true)
        #expect(run(&limit, capacity: 100, rounds: 20, fails: { _ in true }).last == 2)
    }

    @Test func `a limit stays within its bounds`() {
        var limit = ConcurrencyLimit(3...5)
        let limits = run(&limit, capacity: 100, rounds: 200, fails: { $0 == 5 }) + run(&limit, capacity: 1, rounds: 200)
        #expect(limits.allSatisfy { (3...5).contains($0) })
        var fixed = ConcurrencyLimit(4...4)
        #expect(run(&fixed, capacity: 1, rounds: 50, fails: { _ in true }).allSatisfy { $0 == 4 })
    }

    @Test func `a limit does not grow while it is not used up`() {
        var limit = ConcurrencyLimit(2...64)
        #expect(run(&limit, capacity: 100, rounds: 100, places: 1).allSatisfy { $0 == 2 })
    }

    @Test func `a limit adapts to a service that stays slower`() {
        var limit = ConcurrencyLimit(1...32)
        _ = run(&limit, capacity: 100, rounds: 200)
        #expect(limit.current == 32)
        _ = run(&limit, capacity: 100, responseTime: .milliseconds(200), rounds: 8)
        #expect(limit.current < 32)
        _ = run(&limit, capacity: 100, responseTime: .milliseconds(200), rounds: 400)
        #expect(limit.current == 32)
    }
}
