import Platform
import Testing

@testable import Delivery

@Suite("A token bucket")
struct TokenBucketTests {
    private let start = Instant(nanoseconds: 0)

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a token bucket gives its burst at once and then its rate`(seed: UInt64) {
        var random = SeededRandom(seed)
        let (rate, burst) = (Int.random(in: 1...5000, using: &random), Int.random(in: 1...10_000, using: &random))
        var bucket = TokenBucket(perSecond: rate, burst: burst, now: start)
        var now = start
        var taken = 0
        for _ in 0..<2000 {
            let count = Int.random(in: 1...burst, using: &random)
            now = now + bucket.wait(for: count, now)
            #expect(bucket.wait(for: count, now) == .zero)
            bucket.take(count, now)
            taken += count
            let seconds = Double((now - start).inNanoseconds) / 1e9
            #expect(Double(taken) <= Double(burst) + seconds * Double(rate) + 0.001)
        }
        // It is also no slower than its rate.
        #expect(Double((now - start).inNanoseconds) / 1e9 <= Double(taken) / Double(rate))
    }

    @Test func `a token bucket holds at most its burst after any pause`() {
        var bucket = TokenBucket(perSecond: 10, burst: 5, now: start)
        let later = start + .seconds(86_400)
        bucket.take(5, later)
        #expect(bucket.wait(for: 1, later) > .milliseconds(99))
        #expect(bucket.wait(for: 1, later) <= .milliseconds(101))
    }

    @Test func `a full token bucket admits a batch larger than its burst, and the next batch waits for it`() {
        var bucket = TokenBucket(perSecond: 10, burst: 5, now: start)
        #expect(bucket.wait(for: 100, start) == .zero)
        bucket.take(100, start)
        let wait = bucket.wait(for: 5, start)
        #expect(wait >= .seconds(10) && wait < .milliseconds(10_001))
    }
}

@Suite("A rate limit")
struct RateLimitTests {
    /// The time of each offer in seconds, and its number of events.
    private func offers(
        _ limit: RateLimit, events: UInt64, batch: Int, eventsPerRequest: Int = .max, for duration: Duration
    ) -> [(at: Double, count: Int)] {
        let bench = Bench(DeliveryPolicy(batchEvents: batch, inFlight: 4, rateLimit: limit))
        bench.destination.limits.eventsPerRequest = eventsPerRequest
        let start = bench.clock.now()
        var offers: [(at: Double, count: Int)] = []
        let clock = bench.clock
        bench.destination.answer = { batch in
            offers.append((Double((clock.now() - start).inNanoseconds) / 1e9, batch.events.count))
            return .all(.delivered)
        }
        bench.log.append(events)
        bench.run(for: duration)
        return offers
    }

    @Test func `a rate limit on events holds over any time, and no batch is larger than the burst`() {
        let offers = offers(RateLimit(eventsPerSecond: 30, burst: 40), events: 1000, batch: 500, for: .seconds(100))
        #expect(offers.map(\.count).reduce(0, +) == 1000)
        #expect(offers.allSatisfy { $0.count <= 40 })
        for (index, offer) in offers.enumerated() {
            let sent = offers[...index].map(\.count).reduce(0, +)
            #expect(Double(sent) <= 40 + offer.at * 30 + 0.001)
        }
        #expect(offers.last.map { $0.at < 33 } == true)
    }

    @Test(arguments: [(Int.max, 10), (1, 100)])
    func `a rate limit on requests counts batches, or events that are requests`(eventsPerRequest: Int, expected: Int) {
        let offers = offers(
            RateLimit(requestsPerSecond: 5), events: 100, batch: 10, eventsPerRequest: eventsPerRequest,
            for: .seconds(60))
        #expect(offers.map(\.count).reduce(0, +) == 100)
        for (index, offer) in offers.enumerated() {
            let requests = eventsPerRequest == 1 ? offers[...index].map(\.count).reduce(0, +) : index + 1
            #expect(Double(requests) <= 5 + offer.at * 5 + 0.001)
        }
        #expect(offers.last.map { $0.at <= Double(expected) / 5 } == true)
    }

    @Test func `retries count toward the rate limit`() {
        let bench = Bench(
            DeliveryPolicy(
                batchEvents: 10, inFlight: 2, retryInitial: .milliseconds(1), retryMaximum: .milliseconds(1),
                rateLimit: RateLimit(eventsPerSecond: 10)))
        bench.destination.answer = { _ in .all(.retry(reason: "HTTP 503")) }
        bench.log.append(10)
        bench.run(for: .seconds(10))
        #expect((10...11).contains(bench.destination.offers.count))
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(5))
        #expect(bench.cursors.position == 10)
    }

    @Test func `the wait of Retry-After begins when the answer comes, not when the turn began`() {
        let bench = Bench(DeliveryPolicy(retryInitial: .milliseconds(10), retryMaximum: .seconds(60)))
        bench.destination.answer = { _ in
            bench.clock.advance(.milliseconds(300))
            return .all(.retry(reason: "HTTP 429", after: .seconds(5)))
        }
        bench.log.append(1)
        bench.turn()
        bench.destination.answer = { _ in .all(.delivered) }
        bench.clock.advance(.seconds(5) - .milliseconds(1))
        bench.turn()
        #expect(bench.destination.offers.count == 1)
        bench.clock.advance(.milliseconds(1))
        bench.turn()
        #expect(bench.destination.offers.count == 2)
    }
}
