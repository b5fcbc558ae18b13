import Events
import Platform

@testable import Delivery

/// Performs a worker's operations with a delivery policy, with all inputs at their extremes: clock, answers, batches.
struct PolicyRun {
    private let policy: DeliveryPolicy

    init(_ policy: DeliveryPolicy) { self.policy = policy }

    func run() {
        for nanoseconds in [Int64.min, 0, 1_000_000_000, .max] { run(at: Instant(nanoseconds: nanoseconds)) }
    }

    private func run(at now: Instant) {
        var random = SystemRandomNumberGenerator()
        var breaker = Breaker(initial: policy.retryInitial, maximum: policy.retryMaximum)
        for asked in [nil, .zero, .seconds(Int64.max), .seconds(Int64.min)] as [Duration?] {
            for _ in 0..<70 {
                breaker.failed(round: breaker.offered(), now: now, asked: asked, progress: false, using: &random)
            }
            breaker.held(round: breaker.offered(), now: now)
        }
        for count in [1, policy.batchEvents, .max / 2] {
            if var gate = policy.rateLimit.map({ RateGate($0, eventsPerRequest: 1, now: now) }) {
                for time in [now, now + .seconds(Int64.max)] {
                    _ = (gate.wait(for: count, time), gate.waitLeavingHalf(for: count, time))
                    gate.pass(count, time)
                    _ = gate.wait(for: count, time)
                }
            }
        }
        var builder = BatchBuilder(policy, DestinationLimits(eventsPerRequest: 1))
        builder.batch.payload = [0x7B, 0x7D, 0x0A]
        builder.batch.events.append(
            .init(position: .max - 1, receivedAt: .min, kind: .track, payload: 0..<2, messageID: 0..<0))
        builder.count(now)
        _ = (builder.collectingSince ?? now) + policy.batchWait
        guard let batch = builder.take(partial: true) else { return }
        var window = InFlightWindow()
        window.add(batch)
        let bound = InFlightWindow.RetryBound(giveUpAfter: policy.giveUpAfter, attempts: policy.attempts)
        for time in [now, now + .seconds(Int64.max), now] {
            guard let offer = window.offerFirst(round: 0) else { break }
            let again = Outcome.retry(reason: "HTTP 999", after: .seconds(Int64.max))
            _ = window.settle(offer.id, .all(again), now: time, bound: bound) { _ in }
        }
        var queues = UserQueues(policy)
        _ = (queues.hasRoom(now), queues.admit(batch, now), queues.outlook(now))
        queues.park(batch, after: [.seconds(Int64.max)], now, using: &random)
        _ = queues.takeDue(
            now + .seconds(Int64.max), maximumEvents: policy.batchEvents, maximumBytes: policy.batchBytes)
    }
}
