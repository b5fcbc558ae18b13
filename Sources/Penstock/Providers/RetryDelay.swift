/// How long to wait before the next try: exponential backoff with full jitter, so that many processes
/// that lost the same service do not come back in step.
struct RetryDelay {
    let bounds: ClosedRange<Duration>
    private var failures = 0

    /// - Parameter bounds: held between 0 and a year.
    init(_ bounds: ClosedRange<Duration>) {
        let possible: ClosedRange<Duration> = .zero ... .seconds(365 * 86_400)
        self.bounds = bounds.lowerBound.held(in: possible) ... bounds.upperBound.held(in: possible)
    }

    /// Counts a failure in a row.
    /// - Returns: a time between the lower bound and twice as much for each failure, the upper at most.
    mutating func fail(using random: inout some RandomNumberGenerator) -> Duration {
        failures = min(failures + 1, 62)
        var ceiling = bounds.lowerBound
        for _ in 0..<failures where ceiling < bounds.upperBound { ceiling += ceiling }
        ceiling = min(ceiling, bounds.upperBound)
        return bounds.lowerBound + (ceiling - bounds.lowerBound) * Double.random(in: 0...1, using: &random)
    }

    mutating func reset() { failures = 0 }
}
