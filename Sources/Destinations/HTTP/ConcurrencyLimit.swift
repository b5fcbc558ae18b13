import Platform

/// The limit on requests in flight, between bounds (additive increase, multiplicative decrease). It grows by one after
/// each round trip that used the whole limit and was as fast as usual. It shrinks by a tenth if responses came slower,
/// and by half if the service failed. Pure.
struct ConcurrencyLimit: Sendable {
    /// Responses slower than usual by this factor mean that requests queue at the service.
    private static let tolerance = 1.5
    /// Smaller differences, in seconds, are noise of the network or the machine.
    private static let noise = 0.005
    /// How fast "usual" follows a service that has become slower permanently.
    private static let drift = 0.05

    private let bounds: ClosedRange<Int>
    private(set) var current: Int
    /// Seconds that a response takes when the service is healthy; nil: not known yet.
    private var usual: Double?
    /// The state of the current round trip.
    private var began: Instant?
    private var seconds = 0.0
    private var count = 0
    private var wasFull = false
    private var failed = false

    init(_ bounds: ClosedRange<Int>) {
        self.bounds = max(1, bounds.lowerBound)...max(1, bounds.upperBound)
        current = self.bounds.lowerBound
    }

    /// Records a request that ended.
    /// - Parameters:
    ///   - underWay: the number of requests in flight, this one included.
    ///   - failed: the service could not accept the request for now.
    mutating func ended(_ now: Instant, after latency: Duration, underWay: Int, failed: Bool) {
        guard bounds.lowerBound < bounds.upperBound else { return }
        let began = began ?? now
        self.began = began
        seconds += Double(latency.inNanoseconds) / 1e9
        count += 1
        wasFull = wasFull || underWay >= current
        self.failed = self.failed || failed
        let mean = seconds / Double(count)
        // React to a failure at once. Otherwise wait one round trip, so that the last change has an effect.
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
