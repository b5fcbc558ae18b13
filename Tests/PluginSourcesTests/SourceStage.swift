import Events
import Foundation
import Ingest
import Platform
import PluginHosting
import PluginSources
import PluginTesting
import Synchronization
import Telemetry

/// A source with the parts of a daemon around it: a journal that commits, and a log.
final class SourceStage {
    let journal: LaneJournal
    let statistics = SourceStatistics()
    let source: PluginSource
    let log = PluginStage.Log()
    let telemetry: Telemetry
    private let isDone = Box()
    private let committing: WorkerThread

    private final class Box: Sendable {
        let value = Atomic(false)
    }

    init(
        _ settings: String, in directory: PluginTestDirectory, plugin: String = "counting",
        journal: LaneJournal = LaneJournal(), adjust: (inout PluginSourceOptions) -> Void = { _ in }
    ) throws {
        let clock = SystemClock()
        self.journal = journal
        telemetry = Telemetry(sink: log) { clock.now().nanoseconds }
        var options = PluginSourceOptions(
            name: "shop", plugin: plugin, directories: [directory.path], settings: settings,
            events: SourceLimits(
                maximumEventSize: 50_000, maximumDepth: 32, maximumConnections: 1, maximumUnreadAnswers: 1),
            journal: "journal-1")
        options.hostProgram = try TestCompiler.built("penstock-plugin-host")
        options.shortestRetry = .milliseconds(10)
        options.longestRetry = .milliseconds(20)
        adjust(&options)
        let source = PluginSource(
            options, appender: journal, statistics: statistics, lanes: { journal.lanes },
            mark: { journal.mark($0, $1) },
            telemetry: telemetry, clock: clock)
        self.source = source
        committing = try WorkerThread(trying: "commit") { [isDone] in
            while !isDone.value.load(ordering: .acquiring) {
                if journal.commit() { source.journalCommitted() }
                usleep(500)
            }
        }
        try source.start()
    }

    deinit {
        stop()
        isDone.value.store(true, ordering: .releasing)
        committing.join()
    }

    func stop(within time: Duration = .seconds(60)) { source.stop(by: SystemClock().now() + time) }

    func counter(_ name: String) -> UInt64 { source.running.facts?.metrics.counters[name] ?? 0 }
    func gauge(_ name: String) -> Double? { source.running.facts?.metrics.gauges[name] }
    var lines: [String] { log.lines.withLock { $0 } }
    func hasLine(_ words: String) -> Bool { lines.contains { $0.contains(words) } }

    /// The reason for which the source is tried again; nil: it is not.
    var reason: String? {
        switch source.status.state {
        case .failing(let reason), .retrying(let reason): reason
        case .starting, .up, .stopped: source.status.lastError
        }
    }

    /// Whether the journal has each event of these lanes once and in order.
    func hasAll(lanes: Int, events: Int) -> Bool {
        (0..<lanes).allSatisfy { lane in journal.ids("lane-\(lane)") == (0..<events).map { "\(lane)-\($0)" } }
    }
}
