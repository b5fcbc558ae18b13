import Delivery
import Journal
import Platform
import Telemetry

/// Collects the figures of the metrics from the other rooms. Any thread.
struct MetricsCollector: Sendable {
    let status: StatusCollector
    let journal: Journal
    let timings: JournalTimings
    let pipeline: Pipeline
    let telemetry: Telemetry
    /// Nanoseconds since 1970-01-01 UTC.
    let started: Int64

    func report() -> MetricsReport {
        let latencies = pipeline.destinations.compactMap { destination in
            destination.worker.measuredLatencies.map { (destination.worker.name, $0) }
        }
        return MetricsReport(
            status: status.report(), startTime: Double(started) / 1e9, stuckThreads: status.stuckThreads,
            isStopping: status.isStopping, log: telemetry.counts(), process: ProcessUsage.current,
            queuedBytes: journal.statistics().queuedBytes, ingest: timings.commits.snapshot(),
            syncs: timings.syncs.snapshot(),
            latencies: Dictionary(latencies, uniquingKeysWith: { first, _ in first }))
    }
}
