import Platform

/// How much a destination may be sent per second, so that its service's limit is not exceeded.
package struct RateLimit: Sendable, Equatable {
    /// nil: unlimited.
    package var eventsPerSecond: Int?
    /// nil: unlimited.
    package var requestsPerSecond: Int?
    /// Events that may be sent at once after a pause; nil: one second's worth. For requests it is always one second's
    /// worth.
    package var burst: Int?
    /// `eventsPerSecond` and `burst` apply per user instead of per destination; only with `order: user`.
    package var isPerUser: Bool

    package init(
        eventsPerSecond: Int? = nil, requestsPerSecond: Int? = nil, burst: Int? = nil, isPerUser: Bool = false
    ) {
        self.isPerUser = isPerUser
        self.eventsPerSecond = eventsPerSecond
        self.requestsPerSecond = requestsPerSecond
        self.burst = burst
    }

    /// A full bucket for a new user; nil: users are not limited.
    func userBucket(_ now: Instant) -> TokenBucket? {
        guard isPerUser else { return nil }
        return eventsPerSecond.map { TokenBucket(perSecond: $0, burst: burst ?? $0, now: now) }
    }

    /// The largest batch, in events, so that no batch exceeds the burst.
    func maximumBatch(eventsPerRequest: Int) -> Int {
        let byEvents = isPerUser ? .max : eventsPerSecond.map { max(1, burst ?? $0) } ?? .max
        let byRequests = requestsPerSecond.map { max(1, $0).multipliedReportingOverflow(by: eventsPerRequest) }
        return min(byEvents, byRequests.map { $0.overflow ? .max : $0.partialValue } ?? .max)
    }
}

/// Keeps one destination within its rate limit. Pure.
struct RateGate: Sendable {
    private var events: TokenBucket?
    private var requests: TokenBucket?
    private let eventsPerRequest: Int

    init(_ limit: RateLimit, eventsPerRequest: Int, now: Instant) {
        events =
            limit.isPerUser
            ? nil : limit.eventsPerSecond.map { TokenBucket(perSecond: $0, burst: limit.burst ?? $0, now: now) }
        requests = limit.requestsPerSecond.map { TokenBucket(perSecond: $0, burst: $0, now: now) }
        self.eventsPerRequest = max(1, eventsPerRequest)
    }

    /// How long to wait before a batch of `count` events may be sent.
    mutating func wait(for count: Int, _ now: Instant) -> Duration {
        let count = (events: count, requests: requestCount(count))
        return max(events?.wait(for: count.events, now) ?? .zero, requests?.wait(for: count.requests, now) ?? .zero)
    }

    /// As above, for a backfill: waits until half of each bucket stays for live events.
    mutating func waitLeavingHalf(for count: Int, _ now: Instant) -> Duration {
        let count = (events: count, requests: requestCount(count))
        let spare = (events: events?.half ?? 0, requests: requests?.half ?? 0)
        return max(
            events?.wait(for: count.events + spare.events, now) ?? .zero,
            requests?.wait(for: count.requests + spare.requests, now) ?? .zero)
    }

    /// Counts a batch that is sent.
    mutating func pass(_ count: Int, _ now: Instant) {
        let count = (events: count, requests: requestCount(count))
        events?.take(count.events, now)
        requests?.take(count.requests, now)
    }

    private func requestCount(_ events: Int) -> Int { (events - 1) / eventsPerRequest + 1 }
}
