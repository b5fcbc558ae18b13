import Platform

/// The growing wait between two attempts.
struct RetryPause {
    private let shortest: Duration
    private let longest: Duration
    private var next: Duration

    init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
        next = shortest
    }

    /// The wait before the next attempt.
    mutating func take() -> Duration {
        defer { next = min(next * 2, longest) }
        return next
    }

    mutating func reset() { next = shortest }
}
