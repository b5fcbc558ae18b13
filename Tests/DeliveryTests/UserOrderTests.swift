import Events
import Platform
import Testing

@testable import Delivery

/// `order: user`. An event's user is its position modulo the number of users.
@Suite("The order of each user")
struct UserOrderTests {
    private func bench(_ users: UInt64, _ policy: DeliveryPolicy) -> Bench {
        let bench = Bench(policy)
        bench.router.user = { $0 % users }
        return bench
    }

    private func policy(inFlight: Int = 1, rateLimit: RateLimit? = nil) -> DeliveryPolicy {
        DeliveryPolicy(
            batchEvents: 10, inFlight: inFlight, retryInitial: .seconds(1), retryMaximum: .seconds(20), order: .user,
            rateLimit: rateLimit)
    }

    @Test func `a user's order is kept while other users' events pass a refused event`() {
        let bench = bench(5, policy())
        var refusing = true
        bench.destination.answer = { batch in
            .each(batch.events.map { refusing && $0.position % 5 == 3 ? .retry(reason: "throttled") : .delivered })
        }
        bench.log.append(50)
        bench.run(for: .seconds(10))
        #expect(bench.worker.status.delivered == 40)
        #expect(bench.worker.status.state == .up)
        #expect(bench.cursors.position == 3)
        // Refused events are sometimes retried, but never ahead of each other.
        #expect(bench.destination.offers.count < 30)
        refusing = false
        bench.run(for: .seconds(60))
        #expect(bench.worker.status.delivered == 50)
        #expect(bench.cursors.position == 50)
        let accepted = bench.destination.positions.last ?? []
        #expect(accepted == (0..<10).map { $0 * 5 + 3 })
    }

    @Test func `a user's later events wait for a refused event even when the batch is split`() {
        let bench = bench(5, policy())
        var answers: [DeliveryClaim.Settlement] = [
            .all(.tooLarge(reason: "too much")),
            .each([.delivered, .retry(reason: "throttled"), .delivered, .delivered, .delivered]),
        ]
        bench.destination.answer = { _ in answers.isEmpty ? .all(.delivered) : answers.removeFirst() }
        bench.log.append(10)
        bench.turn()
        #expect(
            bench.destination.offers.map { $0.events.map(\.position) } == [Array(0..<10), Array(0..<5), [5, 7, 8, 9]])
        bench.run(for: .seconds(5))
        #expect(bench.destination.offers.last?.events.map(\.position) == [1, 6])
        #expect(bench.cursors.position == 10)
    }

    @Test func `the cursor stays below every waiting event`() {
        let bench = bench(1, policy(inFlight: 2))
        var isFirst = true
        bench.destination.answer = { batch in
            defer { isFirst = false }
            return isFirst
                ? .all(.tooLarge(reason: "too much")) : .each(batch.events.map { _ in .retry(reason: "throttled") })
        }
        bench.log.append(10)
        for _ in 0..<60 {
            bench.run(for: .seconds(1))
            #expect(bench.cursors.position == 0)
        }
        for offer in bench.destination.offers { #expect(offer.events.first?.position == 0) }
    }

    @Test func `the oldest events are sent first when one batch cannot hold every user's events`() {
        let bench = bench(40, policy())
        bench.destination.answer = { .each($0.events.map { _ in .retry(reason: "throttled") }) }
        bench.log.append(40)
        bench.run(for: .seconds(10))
        bench.destination.answer = { _ in .all(.delivered) }
        bench.clock.advance(.seconds(60))
        let before = bench.destination.offers.count
        bench.turn()
        #expect(bench.destination.offers[before...].flatMap { $0.events.map(\.position) } == Array(0..<40))
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a user's order holds whatever the outcomes and however many batches are in flight`(seed: UInt64) {
        var random = SeededRandom(seed)
        let bench = bench(7, policy(inFlight: 4))
        bench.destination.answer = nil
        var delivered: [UInt64] = []
        var settled = 0
        for step in 0..<3000 {
            if step < 1000 { bench.log.append(UInt64.random(in: 0...2, using: &random)) }
            bench.turn()
            bench.clock.advance(.milliseconds(200))
            let offers = bench.destination.offers
            guard bench.destination.held > 0 else { continue }
            let offer = offers[settled]
            settled += 1
            let outcomes = offer.events.map { _ -> Outcome in
                switch Int.random(in: 0..<8, using: &random) {
                case 0, 1: .retry(reason: "r", after: .milliseconds(Int.random(in: 0...5000, using: &random)))
                case 2: .retry(reason: "r")
                default: .delivered
                }
            }
            // A service processes a user's events in order, so it accepts none behind one that it refused.
            var refused: Set<UInt64> = []
            let consistent = zip(offer.events, outcomes).map { event, outcome -> Outcome in
                if refused.contains(event.position % 7) { return .retry(reason: "behind") }
                if outcome != .delivered { refused.insert(event.position % 7) }
                return outcome
            }
            for (event, outcome) in zip(offer.events, consistent) where outcome == .delivered {
                delivered.append(event.position)
            }
            bench.destination.settleFirst(.each(consistent))
        }
        bench.turn()
        #expect(UInt64(delivered.count) == bench.log.end)
        #expect(Set(delivered).count == delivered.count)
        for user in 0..<7 as Range<UInt64> {
            let own = delivered.filter { $0 % 7 == user }
            #expect(own == own.sorted())
        }
        bench.run(for: .seconds(5))
        #expect(bench.cursors.position == bench.log.end)
    }

    @Test func `a rate limit per user bounds each user separately`() {
        let bench = bench(4, policy(inFlight: 2, rateLimit: RateLimit(eventsPerSecond: 2, burst: 3, isPerUser: true)))
        let start = bench.clock.now()
        let clock = bench.clock
        var sent: [UInt64: Int] = [:]
        bench.destination.answer = { batch in
            let seconds = Double((clock.now() - start).inNanoseconds) / 1e9
            for event in batch.events {
                sent[event.position % 4, default: 0] += 1
                #expect(Double(sent[event.position % 4] ?? 0) <= 3 + seconds * 2 + 0.001)
            }
            return .all(.delivered)
        }
        bench.log.append(40)
        bench.run(for: .seconds(10))
        #expect(bench.worker.status.delivered == 40)
        #expect(bench.cursors.position == 40)
    }

    @Test func `events of one user that are given up do not stop the user's later events`() {
        var policy = policy()
        policy.attempts = 3
        let bench = bench(5, policy)
        bench.destination.answer = { batch in
            .each(batch.events.map { $0.position == 3 ? .retry(reason: "never") : .delivered })
        }
        bench.log.append(20)
        bench.run(for: .seconds(120))
        #expect(bench.sink.letters.map(\.position) == [3])
        #expect(bench.worker.status.delivered == 19)
        #expect(bench.cursors.position == 20)
    }

    @Test func `a worker takes few turns while every event that it may read waits for its user`() {
        let bench = bench(1, policy())
        bench.destination.answer = { batch in
            .each(batch.events.map { _ in .retry(reason: "throttled", after: .seconds(15)) })
        }
        bench.log.append(1000)
        let start = bench.clock.now()
        var turns = 0
        while bench.clock.now() - start < .seconds(60), turns < 10_000, let next = bench.turn() {
            turns += 1
            bench.clock.advance(max(.zero, next - bench.clock.now()))
        }
        #expect(turns < 500)
        #expect(bench.cursors.position == 0)
        bench.destination.answer = { _ in .all(.delivered) }
        bench.run(for: .seconds(120))
        #expect(bench.worker.status.delivered == 1000)
        #expect(bench.cursors.position == 1000)
    }
}
