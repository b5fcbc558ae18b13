/// Exponential backoff with full jitter: after the n-th failure in a row, a uniformly random wait between `initial` and
/// `initial · 2ⁿ`, at most `maximum`. The jitter keeps many routers that lost the same service from retrying at the
/// same time.
struct Backoff: Sendable {
    let initial: Duration
    let maximum: Duration
    private(set) var failures = 0

    init(initial: Duration, maximum: Duration) {
        self.initial = initial
        self.maximum = max(initial, maximum)
    }

    /// Counts a failure.
    /// - Parameter asked: the wait that the service asked for (Retry-After); obeyed up to `maximum`.
    /// - Returns: the wait before the next attempt.
    mutating func fail(
        asked: Duration? = nil, using random: inout some RandomNumberGenerator
    ) -> Duration {
        failures = min(failures + 1, 62)
        var ceiling = initial
        for _ in 0..<failures where ceiling < maximum { ceiling += ceiling }
        ceiling = min(ceiling, maximum)
        // Microseconds are precise enough for a wait, and a year of them is far from overflow.
        let (low, high) = (initial.inMicroseconds, ceiling.inMicroseconds)
        let chosen = Duration.microseconds(Int64.random(in: low...max(low, high), using: &random))
        return min(max(chosen, asked ?? .zero), maximum)
    }

    mutating func reset() { failures = 0 }
}

extension Duration {
    fileprivate var inMicroseconds: Int64 {
        components.seconds &* 1_000_000 &+ components.attoseconds / 1_000_000_000_000
    }
}
