import Platform

/// Decides which destinations fall behind: those whose lag is long, and longer than it was a minute ago. One that
/// catches up does not, however long its lag is, and neither does one that keeps pace. Pure.
struct LagTrend: Sendable {
    struct Lag: Sendable, Equatable {
        /// Seconds since the oldest unsettled event was received.
        var seconds: Double
        /// Seconds for which events are collected before a batch goes: that long is no delay.
        var batchWait: Double = 0
    }

    struct Growth: Sendable, Equatable {
        var seconds: Double
        var aMinuteAgo: Double
    }

    /// A lag up to this, and the time for which batches are collected, is never too long.
    static let bound = 60.0
    /// Lag varies by some seconds as batches settle; less growth than this says nothing.
    static let step = 5.0
    private static let window = Duration.seconds(60)
    private static let slice = Duration.seconds(5)

    private var samples: [(time: Instant, lags: [String: Lag])] = []

    /// - Parameter lags: of each destination that is up; one that is missing begins anew.
    mutating func sample(_ lags: [String: Lag], at now: Instant) {
        // One sample of at least a minute ago is kept, to compare with.
        while samples.count > 1, now - samples[1].time >= Self.window { samples.removeFirst() }
        // A destination that began anew in between has no earlier lag.
        for index in samples.indices { samples[index].lags = samples[index].lags.filter { lags[$0.key] != nil } }
        if samples.last.map({ now - $0.time >= Self.slice }) ?? true { samples.append((now, lags)) }
    }

    /// Destinations that fall behind.
    /// - Parameter lags: as they are now.
    func growing(_ lags: [String: Lag], at now: Instant) -> [String: Growth] {
        guard let then = samples.first, now - then.time >= Self.window else { return [:] }
        var growing: [String: Growth] = [:]
        for (name, lag) in lags {
            guard let before = then.lags[name]?.seconds, lag.seconds > Self.bound + lag.batchWait, lag.seconds >= before + Self.step
            else { continue }
            growing[name] = Growth(seconds: lag.seconds, aMinuteAgo: before)
        }
        return growing
    }
}
