import Platform

/// A token bucket: it allows a steady rate on average, and a burst after a pause. Pure.
struct TokenBucket: Sendable {
    /// Tokens per second.
    let rate: Double
    /// The most tokens that it holds.
    let capacity: Double
    private var level: Double
    private var filledAt: Instant

    /// Starts full.
    init(perSecond: Int, burst: Int, now: Instant) {
        rate = Double(max(1, perSecond))
        capacity = Double(max(1, burst))
        level = capacity
        filledAt = now
    }

    /// How long to wait before `count` tokens may be taken. A count above the capacity waits for a full bucket.
    mutating func wait(for count: Int, _ now: Instant) -> Duration {
        fill(now)
        let missing = min(Double(count), capacity) - level
        guard missing > 0 else { return .zero }
        // Round up: a caller that returned too early would have to wait again at once.
        return .nanoseconds(Int64(saturating: missing / rate * 1e9).saturatingAdd(1))
    }

    /// Half of the capacity.
    var half: Int { Int(min(capacity / 2, 1e9)) }

    /// Takes tokens. Taking more than it holds leaves a debt, which later tokens pay first.
    mutating func take(_ count: Int, _ now: Instant) {
        fill(now)
        level -= Double(count)
    }

    /// Whether the bucket is full.
    mutating func isFull(_ now: Instant) -> Bool {
        fill(now)
        return level >= capacity
    }

    private mutating func fill(_ now: Instant) {
        guard now > filledAt else { return }
        level = min(capacity, level + Double((now - filledAt).inNanoseconds) / 1e9 * rate)
        filledAt = now
    }
}
