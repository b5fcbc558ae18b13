import Events
import Foundation
import Ingest
import Platform
import PluginHosting
import PluginSources
import PluginTesting
import Synchronization
import Telemetry

/// A source plugin in a process of its own, as the daemon hosts it, with a journal in memory.
final class HostedSource {
    /// Each append is a commit.
    final class Journal: EventAppender {
        private struct State {
            var events: [String] = []
            var lanes: [String: [UInt8]] = [:]
            var end: UInt64 = 0
        }

        private let state = Mutex(State())
        private let wake = Mutex<(@Sendable () -> Void)?>(nil)

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            var texts: [String] = []
            for index in events.indices {
                let range = Int(events[index].offset)..<Int(events[index].offset + events[index].length)
                texts.append(range.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar(bytes[$1])) })
            }
            let end = state.withLock { state in
                state.events += texts
                if let lane { state.lanes[lane.lane] = lane.position }
                state.end += UInt64(texts.count) + 1
                return state.end
            }
            let wake = wake.withLock { $0 }
            DispatchQueue.global().async { wake?() }
            return .queued(end: end)
        }

        var durableEnd: UInt64 { state.withLock(\.end) }
        var events: [String] { state.withLock(\.events) }
        var count: Int { state.withLock(\.events.count) }
        var lanes: [LanePosition] {
            state.withLock(\.lanes).map { LanePosition(lane: $0.key, position: $0.value) }
        }

        /// - Parameter body: called after each commit.
        func notify(_ body: @escaping @Sendable () -> Void) { wake.withLock { $0 = body } }
    }

    let journal: Journal
    let source: PluginSource
    private let directory: PluginTestDirectory
    private let host: NamedHost

    /// - Parameter library: the path of the built plugin.
    init(_ plugin: String, _ library: String, settings: String, journal: Journal = Journal()) throws {
        directory = try PluginTestDirectory()
        try directory.add("\(plugin).so", try Data(contentsOf: URL(fileURLWithPath: library)))
        host = try NamedHost(in: directory)
        self.journal = journal
        var options = PluginSourceOptions(
            name: "in", plugin: plugin, directories: [directory.path], settings: settings,
            events: SourceLimits(
                maximumEventSize: 50_000, maximumDepth: 32, maximumConnections: 1, maximumUnreadAnswers: 1),
            journal: "journal-1")
        options.hostProgram = host.path
        options.shortestRetry = .milliseconds(10)
        options.longestRetry = .milliseconds(20)
        let source = PluginSource(
            options, appender: journal, statistics: SourceStatistics(), lanes: { journal.lanes },
            telemetry: Telemetry(sink: PluginStage.Log()) { SystemClock().now().nanoseconds })
        self.source = source
        journal.notify { source.journalCommitted() }
        try source.start()
    }

    deinit { stop() }

    func stop() { source.stop(by: SystemClock().now() + .seconds(20)) }

    /// SIGKILL.
    func killProcess() throws { kill(try host.process(), SIGKILL) }

    var state: String {
        let status = source.status
        return "\(status.state) \(status.problem ?? "") \(status.lastError ?? ""), \(journal.count) events"
    }
}
