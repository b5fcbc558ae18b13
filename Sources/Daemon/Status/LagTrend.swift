import Platform

/// Decides which destinations fall behind: their lag is long, and longer than a minute ago. A destination that catches
/// up or keeps pace does not fall behind, however long its lag is. Pure.
struct LagTrend: Sendable {
    struct Lag: Sendable, Equatable {
        /// Seconds since the oldest unsettled event was received.
        var seconds: Double
        /// `batch.wait` in seconds. Collecting a batch for that long is not a delay.
        var batchWait: Double = 0
    }

    struct Growth: Sendable, Equatable {
        var seconds: Double
        var aMinuteAgo: Double
    }

    /// In seconds. A lag up to this plus `batchWait` is never too long.
    static let bound = 60.0
    /// In seconds. Lag varies by some seconds as batches settle, so smaller growth is ignored.
    static let step = 5.0
    private static let window = Duration.seconds(60)
    private static let slice = Duration.seconds(5)

    private var samples: [(time: Instant, lags: [String: Lag])] = []

    /// - Parameter lags: the lag of each destination that is up. The history of all others is cleared.
    mutating func sample(_ lags: [String: Lag], at now: Instant) {
        // Keep one sample that is at least a minute old, to compare with.
        while samples.count > 1, now - samples[1].time >= Self.window { samples.removeFirst() }
        // A destination that was not up in between has no earlier lag to compare with.
        for index in samples.indices { samples[index].lags = samples[index].lags.filter { lags[$0.key] != nil } }
        if samples.last.map({ now - $0.time >= Self.slice }) ?? true { samples.append((now, lags)) }
    }

    /// Returns the destinations that fall behind.
    /// - Parameter lags: the current lags.
    func growing(_ lags: [String: Lag], at now: Instant) -> [String: Growth] {
        guard let then = samples.first, now - then.time >= Self.window else { return [:] }
        var growing: [String: Growth] = [:]
        for (name, lag) in lags {
            guard let before = then.lags[name]?.seconds, lag.seconds > Self.bound + lag.batchWait,
                lag.seconds >= before + Self.step
            else { continue }
            growing[name] = Growth(seconds: lag.seconds, aMinuteAgo: before)
        }
        return growing
    }
}
