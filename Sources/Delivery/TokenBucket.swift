import Platform

/// Tokens that come in evenly and are kept up to a bound: so many a second on average, and so many
/// at once after a pause. Pure.
struct TokenBucket: Sendable {
    /// Tokens a second.
    let rate: Double
    /// Tokens that are kept.
    let capacity: Double
    private var level: Double
    private var filledAt: Instant

    /// Full at first.
    init(perSecond: Int, burst: Int, now: Instant) {
        rate = Double(max(1, perSecond))
        capacity = Double(max(1, burst))
        level = capacity
        filledAt = now
    }

    /// How long until so many may be taken; more than are kept count as all that are kept.
    mutating func wait(for count: Int, _ now: Instant) -> Duration {
        fill(now)
        let missing = min(Double(count), capacity) - level
        guard missing > 0 else { return .zero }
        // Never a hair too early: the caller would come again at once.
        return .nanoseconds(Int64(saturating: missing / rate * 1e9).saturatingAdd(1))
    }

    /// Of what is kept.
    var half: Int { Int(min(capacity / 2, 1e9)) }

    /// Takes them. More than there are leaves a debt that is paid before the next are given.
    mutating func take(_ count: Int, _ now: Instant) {
        fill(now)
        level -= Double(count)
    }

    /// As many as can be kept are there.
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
