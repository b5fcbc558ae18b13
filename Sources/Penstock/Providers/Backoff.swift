/// The delay before the next retry: exponential backoff with full jitter, so that processes that lost the same service
/// do not return in step.
package struct Backoff {
    package let bounds: ClosedRange<Duration>
    private var failures = 0

    /// - Parameter bounds: The shortest and longest delay, clamped to the range from 1 ms to one year. A delay of 0
    ///   would keep a processor busy, and would never grow.
    package init(_ bounds: ClosedRange<Duration>) {
        let possible: ClosedRange<Duration> = .milliseconds(1) ... .seconds(365 * 86_400)
        self.bounds = bounds.lowerBound.held(in: possible)...bounds.upperBound.held(in: possible)
    }

    /// Counts another consecutive failure.
    /// - Returns: A random time between the lower bound and a limit that starts there, doubles with each consecutive
    ///   failure and never exceeds the upper bound.
    package mutating func fail(using random: inout some RandomNumberGenerator) -> Duration {
        failures = min(failures + 1, 62)
        var ceiling = bounds.lowerBound
        for _ in 0..<failures where ceiling < bounds.upperBound { ceiling += ceiling }
        ceiling = min(ceiling, bounds.upperBound)
        return bounds.lowerBound + (ceiling - bounds.lowerBound) * Double.random(in: 0...1, using: &random)
    }

    package mutating func reset() { failures = 0 }
}
