import Control
import Platform
import Telemetry

/// How long deliveries, syncs and commits took in the last minute: the difference of two snapshots of each histogram.
/// Pure. It keeps a few snapshots, so its window is up to `period` longer.
struct RecentLatencies: Sendable {
    enum Key: Hashable {
        case destination(String)
        case sync
        case commit
    }

    static let window = Duration.seconds(60)
    static let period = Duration.seconds(10)

    private var samples: [(time: Instant, snapshots: [Key: Histogram.Snapshot])] = []

    /// Keeps the snapshots if the last ones are old enough.
    mutating func sample(at now: Instant, _ snapshots: () -> [Key: Histogram.Snapshot]) {
        if let last = samples.last, now - last.time < Self.period { return }
        samples.append((now, snapshots()))
        // One at or before the beginning of the window stays.
        while samples.count > 1, now - samples[1].time >= Self.window { samples.removeFirst() }
    }

    /// - Returns: nil: nothing was recorded in the window.
    func latency(of key: Key, _ current: Histogram.Snapshot?, at now: Instant) -> StatusReport.Latency? {
        // At first, everything since the start is recent.
        let base = samples.first.flatMap { now - $0.time >= Self.window ? $0.snapshots[key] : nil }
        guard let recent = current?.since(base), let p50 = recent.quantile(0.5),
            let p99 = recent.quantile(0.99)
        else { return nil }
        return StatusReport.Latency(p50: p50, p99: p99)
    }
}
