import DaemonConfiguration
import Control
import Destinations
import Events
import Ingest
import Journal
import Platform
import PluginHosting
import PluginSources

extension StatusReport.Journal {
    init(_ statistics: JournalStatistics) {
        self.init(
            state: statistics.problem == nil ? .ok : statistics.isFull ? .full : .failed, first: statistics.first,
            next: statistics.next,
            bytes: UInt64(statistics.bytes), segments: statistics.segments,
            damaged: statistics.gaps.reduce(0) { $0.saturatingAdd($1.positions.length) }, lastError: statistics.problem,
            retainBytes: UInt64(clamping: statistics.retainSize),
            retainSeconds: Double(statistics.retainTime.inNanoseconds) / 1e9, whenFull: statistics.whenFull.name,
            removedForSpace: UInt64(clamping: statistics.removedForSpace))
    }
}

extension StatusReport.Source {
    init(
        _ snapshot: SourceStatistics.Snapshot, _ deduplication: Deduplication.Status?, listens: [String],
        socketUnit: String?, plugin: PluginSourceStatus?
    ) {
        self.init(
            accepted: snapshot.accepted, refused: snapshot.refused,
            refusedByReason: Dictionary(
                uniqueKeysWithValues: snapshot.refusedByReason.map { ($0.key.rawValue, $0.value) }),
            violationsByReason: Dictionary(
                uniqueKeysWithValues: snapshot.violationsByReason.map { ($0.key.rawValue, $0.value) }),
            normalised: Dictionary(uniqueKeysWithValues: snapshot.normalised.map { ($0.key.rawValue, $0.value) }),
            connections: snapshot.connections,
            limits: Dictionary(uniqueKeysWithValues: snapshot.limits.map { ($0.key.rawValue, $0.value.count) }),
            listens: listens, socketUnit: socketUnit)
        duplicates = snapshot.duplicates
        dedupe = deduplication.map(MessageIDs.init)
        guard let plugin else { return }
        lastError = plugin.problem ?? plugin.waiting ?? plugin.lastError
        state =
            switch plugin.state {
            case .starting: .starting
            case .up: plugin.problem != nil ? .retrying : plugin.waiting != nil ? .held : .up
            case .retrying: .retrying
            case .failing: .failing
            case .stopped: .stopped
            }
        restarts = plugin.restarts
        openLanes = plugin.openLanes
        lagSeconds = plugin.lag.map { Double($0.inNanoseconds) / 1e9 }
        readyLagSeconds = plugin.lag == nil ? nil : Double(plugin.readyLag.inNanoseconds) / 1e9
        lanes = Dictionary(plugin.lanes.map { ($0.name, $0.position) }, uniquingKeysWith: { first, _ in first })
        self.plugin = plugin.plugin.map(StatusReport.Plugin.init)
    }
}

extension StatusReport.Source.MessageIDs {
    init(_ status: Deduplication.Status) {
        let window = Double(status.options.window.inNanoseconds) / 1e9
        // Full, the window reaches back to the oldest id.
        let oldest = status.oldest.map { Double($0.inNanoseconds) / 1e9 } ?? window
        self.init(
            windowSeconds: window, effectiveWindowSeconds: status.isFull ? min(oldest, window) : window,
            ids: UInt64(clamping: status.ids), capacity: UInt64(clamping: status.capacity),
            forgottenEarly: status.forgottenEarly)
    }
}

extension StatusReport.Plugin {
    init(_ facts: RunningPlugin.Facts) {
        self.init(
            name: facts.name, version: facts.version, build: facts.build, counters: facts.metrics.counters,
            gauges: facts.metrics.gauges)
    }
}

extension JournalOptions.WhenFull {
    /// The value of `journal.when_full` in the configuration.
    fileprivate var name: String {
        switch self {
        case .block: Configuration.Journal.WhenFull.block.rawValue
        case .dropOldest: Configuration.Journal.WhenFull.drop_oldest.rawValue
        case .reject: Configuration.Journal.WhenFull.reject.rawValue
        }
    }
}
