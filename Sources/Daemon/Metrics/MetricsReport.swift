import Control
import Events
import Ingest
import Platform
import Telemetry

/// The figures of the daemon at one moment, as text for a collector. Pure.
///
/// Averages over the last seconds, which the status report has, are left out: the collector computes them from the
/// counters. Errors and their texts are left out, too: everybody who can connect may read this.
struct MetricsReport {
    var status: StatusReport
    /// Seconds since 1970-01-01 UTC.
    var startTime: Double
    var stuckThreads = 0
    var isStopping = false
    /// The named events, and how often each was emitted.
    var log: [String: UInt64] = [:]
    var process: ProcessUsage?
    var queuedBytes = 0
    var ingest: Histogram.Snapshot?
    var syncs: Histogram.Snapshot?
    /// By destination.
    var latencies: [String: Histogram.Snapshot] = [:]

    /// Refusal reasons that can be violations of a plan.
    private static let planReasons: [RefusalReason] = [.unplanned, .schemaViolation]

    /// Whether events are accepted, or read: an aggregator, whose sources are all plugins, reads at least one lane, and
    /// none of its plugins is further behind than `ready_lag`.
    var isReady: Bool {
        let isAggregator = !status.sources.isEmpty && status.sources.values.allSatisfy { $0.state != nil }
        let reads = status.sources.values.contains { $0.state == .up && $0.openLanes ?? 0 > 0 }
        let lags = status.sources.values.contains { source in
            source.lagSeconds.map { $0 > source.readyLagSeconds ?? .infinity } ?? false
        }
        return status.journal.state == .ok && !isStopping && (!isAggregator || reads && !lags)
    }

    func text(_ format: MetricsText.Format) -> [UInt8] {
        var text = MetricsText(format)
        writeDaemon(to: &text)
        writeProcess(to: &text)
        writeSources(to: &text)
        writeJournal(to: &text)
        writeDestinations(to: &text)
        writeReplays(to: &text)
        writePlugins(to: &text)
        return text.finish()
    }

    private func writeDaemon(to text: inout MetricsText) {
        text.write(MetricCatalogue.build) { $0.sample(true, status.version) }
        text.write(MetricCatalogue.configuration) { $0.sample(true, status.host ?? "", status.configurationHash ?? "") }
        text.write(MetricCatalogue.uptime) { $0.sample(status.uptimeSeconds) }
        text.write(MetricCatalogue.healthy) { $0.sample(status.health == .healthy) }
        text.write(MetricCatalogue.reasons) { $0.sample(UInt64(status.reasons.count)) }
        text.write(MetricCatalogue.refusedReload) { $0.sample(status.refusedReload != nil) }
        text.write(MetricCatalogue.stuckThreads) { $0.sample(UInt64(clamping: stuckThreads)) }
        text.write(MetricCatalogue.log) { text in
            for (event, count) in log.sorted(by: { $0.key < $1.key }) { text.sample(count, event) }
        }
        if let ingest { text.write(MetricCatalogue.ingest) { $0.sample(ingest) } }
    }

    private func writeProcess(to text: inout MetricsText) {
        text.write(MetricCatalogue.startTime) { $0.sample(startTime) }
        guard let process else { return }
        text.write(MetricCatalogue.processor) { $0.sample(process.processorSeconds) }
        text.write(MetricCatalogue.resident) { $0.sample(process.residentBytes) }
        text.write(MetricCatalogue.virtual) { $0.sample(process.virtualBytes) }
        if let files = process.openFiles {
            text.write(MetricCatalogue.openFiles) { $0.sample(UInt64(clamping: files)) }
        }
        if let files = process.maximumOpenFiles {
            text.write(MetricCatalogue.maximumOpenFiles) { $0.sample(UInt64(clamping: files)) }
        }
    }

    private func writeJournal(to text: inout MetricsText) {
        let journal = status.journal
        text.write(MetricCatalogue.journalState) { text in
            for state in StatusReport.Journal.State.allCases { text.sample(state == journal.state, state.rawValue) }
        }
        text.write(MetricCatalogue.firstPosition) { $0.sample(journal.first) }
        text.write(MetricCatalogue.nextPosition) { $0.sample(journal.next) }
        text.write(MetricCatalogue.journalBytes) { $0.sample(journal.bytes) }
        text.write(MetricCatalogue.segments) { $0.sample(UInt64(clamping: journal.segments)) }
        text.write(MetricCatalogue.queued) { $0.sample(UInt64(clamping: queuedBytes)) }
        text.write(MetricCatalogue.damaged) { $0.sample(journal.damaged) }
        text.write(MetricCatalogue.retainBytes) { $0.sample(journal.retainBytes) }
        text.write(MetricCatalogue.retainSeconds) { $0.sample(journal.retainSeconds) }
        text.write(MetricCatalogue.removedForSpace) { $0.sample(journal.removedForSpace) }
        text.write(MetricCatalogue.writeFailures) { $0.sample(log["journal_write_failed"] ?? 0) }
        if let syncs { text.write(MetricCatalogue.syncs) { $0.sample(syncs) } }
    }

    // MARK: Sources

    private func writeSources(to text: inout MetricsText) {
        let sources = status.sources.sorted { $0.key < $1.key }
        func each(_ metric: Metric, _ sample: (inout MetricsText, String, StatusReport.Source) -> Void) {
            text.write(metric) { text in for (name, source) in sources { sample(&text, name, source) } }
        }
        // Every value that a label can have, so that an alert sees a counter grow from 0.
        func each(_ metric: Metric, _ values: [String], _ counts: (StatusReport.Source) -> [String: UInt64]) {
            each(metric) { text, name, source in
                let counts = counts(source)
                for value in values { text.sample(counts[value] ?? 0, name, value) }
            }
        }
        each(MetricCatalogue.accepted) { $0.sample($2.accepted, $1) }
        each(MetricCatalogue.refused, RefusalReason.allCases.map(\.rawValue), \.refusedByReason)
        each(MetricCatalogue.duplicates) { $0.sample($2.duplicates, $1) }
        each(MetricCatalogue.violations, Self.planReasons.map(\.rawValue), \.violationsByReason)
        each(MetricCatalogue.normalised, Normalisation.allCases.map(\.rawValue), \.normalised)
        each(MetricCatalogue.connections) { $0.sample(UInt64(clamping: $2.connections), $1) }
        each(MetricCatalogue.limits, ClientLimit.allCases.map(\.rawValue), \.limits)
        each(MetricCatalogue.dedupeIDs) { if let ids = $2.dedupe { $0.sample(ids.ids, $1) } }
        each(MetricCatalogue.dedupeCapacity) { if let ids = $2.dedupe { $0.sample(ids.capacity, $1) } }
        each(MetricCatalogue.dedupeWindow) { if let ids = $2.dedupe { $0.sample(ids.windowSeconds, $1) } }
        each(MetricCatalogue.dedupeEffective) { if let ids = $2.dedupe { $0.sample(ids.effectiveWindowSeconds, $1) } }
        each(MetricCatalogue.dedupeForgotten) { if let ids = $2.dedupe { $0.sample(ids.forgottenEarly, $1) } }
        each(MetricCatalogue.sourceState) { text, name, source in
            guard let current = source.state else { return }
            for state in StatusReport.Source.PluginState.allCases {
                text.sample(state == current, name, state.rawValue)
            }
        }
        each(MetricCatalogue.restarts) { if let restarts = $2.restarts { $0.sample(restarts, $1) } }
        each(MetricCatalogue.sourceLag) { if let lag = $2.lagSeconds { $0.sample(lag, $1) } }
        each(MetricCatalogue.lanes) { if let lanes = $2.openLanes { $0.sample(UInt64(clamping: lanes), $1) } }
    }

    // MARK: Destinations

    private func writeDestinations(to text: inout MetricsText) {
        let destinations = status.destinations.sorted { $0.key < $1.key }
        func each(_ metric: Metric, _ sample: (inout MetricsText, String, StatusReport.Destination) -> Void) {
            text.write(metric) { text in
                for (name, destination) in destinations { sample(&text, name, destination) }
            }
        }
        each(MetricCatalogue.destinationState) { text, name, destination in
            for state in StatusReport.Destination.State.allCases {
                text.sample(state == destination.state, name, state.rawValue)
            }
        }
        each(MetricCatalogue.stateSeconds) { if let seconds = $2.stateSeconds { $0.sample(seconds, $1) } }
        each(MetricCatalogue.position) { $0.sample($2.position, $1) }
        each(MetricCatalogue.delivered) { $0.sample($2.delivered, $1) }
        each(MetricCatalogue.filtered) { text, name, destination in
            for (reason, count) in destination.filteredByReason.sorted(by: { $0.key < $1.key }) {
                text.sample(count, name, reason)
            }
        }
        each(MetricCatalogue.deadLettered) { $0.sample($2.deadLettered, $1) }
        each(MetricCatalogue.mended) { if let mended = $2.mended { $0.sample(mended, $1) } }
        each(MetricCatalogue.dropped) { $0.sample($2.dropped, $1) }
        each(MetricCatalogue.retries) { $0.sample($2.retries, $1) }
        each(MetricCatalogue.lagEvents) { $0.sample($2.lagEvents, $1) }
        each(MetricCatalogue.lagSeconds) { $0.sample($2.lagSeconds, $1) }
        each(MetricCatalogue.nextAttempt) { if let seconds = $2.nextAttemptSeconds { $0.sample(seconds, $1) } }
        each(MetricCatalogue.letters) { if let letters = $2.deadLetters { $0.sample(letters.letters, $1) } }
        each(MetricCatalogue.letterBytes) { if let letters = $2.deadLetters { $0.sample(letters.bytes, $1) } }
        each(MetricCatalogue.expiredLetters) { if let letters = $2.deadLetters { $0.sample(letters.expired, $1) } }
        each(MetricCatalogue.retriedLetters) { if let letters = $2.deadLetters { $0.sample(letters.retried, $1) } }
        each(MetricCatalogue.retriesLetters) { if let letters = $2.deadLetters { $0.sample(letters.isRetrying, $1) } }
        each(MetricCatalogue.latency) { text, name, _ in if let times = latencies[name] { text.sample(times, name) } }
        each(MetricCatalogue.replayed) { $0.sample($2.replayed, $1) }
    }

    private func writeReplays(to text: inout MetricsText) {
        let replays = status.destinations.sorted { $0.key < $1.key }.compactMap { name, destination in
            destination.replay.map { (name, $0) }
        }
        func each(_ metric: Metric, _ sample: (inout MetricsText, String, StatusReport.Destination.Replay) -> Void) {
            text.write(metric) { text in for (name, replay) in replays { sample(&text, name, replay) } }
        }
        each(MetricCatalogue.replayState) { text, name, replay in
            for state in StatusReport.Destination.Replay.State.allCases {
                text.sample(state == replay.state, name, state.rawValue)
            }
        }
        each(MetricCatalogue.replayStart) { $0.sample($2.start, $1) }
        each(MetricCatalogue.replayPosition) { $0.sample($2.position, $1) }
        each(MetricCatalogue.replayEnd) { $0.sample($2.end, $1) }
        each(MetricCatalogue.replayDelivered) { $0.sample($2.delivered, $1) }
        each(MetricCatalogue.replayFiltered) { $0.sample($2.filtered, $1) }
        each(MetricCatalogue.replayDeadLettered) { $0.sample($2.deadLettered, $1) }
        each(MetricCatalogue.replayMissing) { $0.sample($2.missing, $1) }
    }

    // MARK: Plugins

    private func writePlugins(to text: inout MetricsText) {
        func write(
            _ owners: [(String, StatusReport.Plugin)], _ info: Metric, _ counters: Metric, _ gauges: Metric
        ) {
            text.write(info) { text in
                for (name, plugin) in owners { text.sample(true, name, plugin.name, plugin.version) }
            }
            text.write(counters) { text in
                for (name, plugin) in owners {
                    for (counter, count) in plugin.counters.sorted(by: { $0.key < $1.key }) {
                        text.sample(count, name, counter)
                    }
                }
            }
            text.write(gauges) { text in
                for (name, plugin) in owners {
                    for (gauge, value) in plugin.gauges.sorted(by: { $0.key < $1.key }) {
                        text.sample(value, name, gauge)
                    }
                }
            }
        }
        write(
            status.sources.compactMap { name, source in source.plugin.map { (name, $0) } }.sorted { $0.0 < $1.0 },
            MetricCatalogue.sourcePlugin, MetricCatalogue.sourcePluginCount, MetricCatalogue.sourcePluginValue)
        write(
            status.destinations.compactMap { name, owner in owner.plugin.map { (name, $0) } }.sorted { $0.0 < $1.0 },
            MetricCatalogue.destinationPlugin, MetricCatalogue.destinationPluginCount,
            MetricCatalogue.destinationPluginValue)
    }
}

extension MetricsText {
    fileprivate mutating func write(_ metric: Metric, _ samples: (inout MetricsText) -> Void) {
        declare(metric)
        samples(&self)
    }
}
