import Platform

/// Turns growing counters into events per second, averaged over the last few seconds.
struct RateMeter {
    private struct Sample {
        var time: Instant
        var counts: [String: UInt64]
    }

    /// The number of samples kept. With one sample a second, this is also the averaging time in seconds.
    private static let window = 5

    private var samples: [Sample] = []

    mutating func sample(_ counts: [String: UInt64], at time: Instant) {
        samples.append(Sample(time: time, counts: counts))
        if samples.count > Self.window { samples.removeFirst() }
    }

    /// Events per second; 0 until there are two samples.
    func rate(of name: String) -> Double {
        guard let first = samples.first, let last = samples.last, first.time < last.time else { return 0 }
        let before = first.counts[name] ?? 0
        let now = last.counts[name] ?? 0
        // A counter restarts at 0 when a reload replaces its destination.
        guard now >= before else { return 0 }
        return Double(now - before) * 1e9 / Double((last.time - first.time).inNanoseconds)
    }
}
