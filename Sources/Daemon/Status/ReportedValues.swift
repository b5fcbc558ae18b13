import Configuration
import Control
import Destinations
import Journal
import Platform
import PluginHosting

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
