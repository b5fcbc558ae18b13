extension StatusReport {
    /// How long something took in the last minute, in seconds: half of the cases took at most `p50`, 99 % at most
    /// `p99`. Estimated from the buckets of a histogram, as Prometheus does.
    package struct Latency: Codable, Sendable, Equatable {
        package var p50: Double
        package var p99: Double

        package init(p50: Double, p99: Double) {
            self.p50 = p50
            self.p99 = p99
        }
    }
}
