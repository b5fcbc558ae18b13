import Platform

/// How many requests may be under way at once, between bounds: one more for each round trip in
/// which all places were taken and the answers came as fast as usual; a tenth fewer when they came
/// slower; half as many when the service failed (additive increase, multiplicative decrease). Pure.
struct ConcurrencyLimit: Sendable {
    /// Answers this much slower than usual mean that requests wait for each other.
    private static let tolerance = 1.5
    /// What differs by less, in seconds, is the network's or the machine's mood.
    private static let noise = 0.005
    /// How fast "usual" follows a service that has become slower for good.
    private static let drift = 0.05

    private let bounds: ClosedRange<Int>
    private(set) var current: Int
    /// Seconds that an answer takes when the service is well; nil: not known yet.
    private var usual: Double?
    /// Of the present round trip.
    private var began: Instant?
    private var seconds = 0.0
    private var count = 0
    private var wasFull = false
    private var failed = false

    init(_ bounds: ClosedRange<Int>) {
        self.bounds = max(1, bounds.lowerBound)...max(1, bounds.upperBound)
        current = self.bounds.lowerBound
    }

    /// Takes note of a request that ended.
    /// - Parameters:
    ///   - underWay: how many there were, this one included.
    ///   - failed: the service could not take it for the time.
    mutating func ended(_ now: Instant, after latency: Duration, underWay: Int, failed: Bool) {
        guard bounds.lowerBound < bounds.upperBound else { return }
        let began = began ?? now
        self.began = began
        seconds += Double(latency.inNanoseconds) / 1e9
        count += 1
        wasFull = wasFull || underWay >= current
        self.failed = self.failed || failed
        let mean = seconds / Double(count)
        // A failure is not waited out. Else a round trip, so that the last change shows.
        guard self.failed || (count >= current && Double((now - began).inNanoseconds) / 1e9 >= mean) else { return }
        if self.failed {
            current = max(bounds.lowerBound, current / 2)
        } else if let usual, mean > usual * Self.tolerance + Self.noise {
            current = max(bounds.lowerBound, current - max(1, current / 10))
            self.usual = usual + (mean - usual) * Self.drift
        } else {
            if wasFull { current = min(bounds.upperBound, current + 1) }
            usual = min(usual.map { $0 + (mean - $0) * Self.drift } ?? mean, mean)
        }
        self.began = nil
        (seconds, count, wasFull, self.failed) = (0, 0, false, false)
    }
}
