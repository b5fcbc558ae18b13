import Assembly
import DaemonConfiguration
import Events
import Ingest
import Journal
import JournalAdapters
import Platform
import PluginHosting
import PluginSources
import Synchronization
import Telemetry

/// The running source plugins. Any thread may ring and read; only the main thread starts and stops them.
final class SourcePlugins: Sendable {
    private struct State {
        var running: [String: PluginSource] = [:]
        /// The end of what a stopped source appended. A new one of the same name begins after that is durable.
        var ends: [String: UInt64] = [:]
    }

    private let state = Mutex(State())
    private let journal: Journal
    private let clock: any Clock
    private let telemetry: Telemetry

    init(journal: Journal, clock: any Clock, telemetry: Telemetry) {
        self.journal = journal
        self.clock = clock
        self.telemetry = telemetry
    }

    subscript(name: String) -> PluginSource? { state.withLock { $0.running[name] } }

    /// After a journal commit. Any thread.
    func journalCommitted() {
        state.withLock { for source in $0.running.values { source.journalCommitted() } }
    }

    /// The journal has room again after it was busy. Any thread.
    func journalHasRoom() {
        state.withLock { for source in $0.running.values { source.journalHasRoom() } }
    }

    /// The sources whose plugin's file has been replaced since it was loaded.
    var replaced: [String] {
        state.withLock { $0.running }.filter { $0.value.running.isReplaced }.map(\.key).sorted()
    }

    /// Starts a source. Its plugin is loaded on its own thread: whatever the plugin does, the daemon goes on.
    /// - Parameters:
    ///   - inspector: checks the source's events before they are stored.
    ///   - directories: where plugins are looked for.
    ///   - journalQueue: bytes (journal.queue).
    func start(
        _ source: Configuration.Source, _ plugin: Configuration.Plugin, in directories: [String],
        statistics: SourceStatistics, journalQueue: Int, inspector: @escaping @Sendable () -> any EventInspector
    ) {
        var options = PluginSourceOptions(
            name: source.name, plugin: plugin.plugin, directories: directories, settings: plugin.settings,
            events: SourceLimits(source), journal: "\(journal.uuid)")
        options.directory = plugin.directory
        options.limits.memory = plugin.limits.memory
        options.limits.processors = plugin.limits.processors
        options.limits.openFiles = plugin.limits.openFiles
        options.deadline = plugin.deadline
        options.window = source.window
        options.readyLag = source.readyLag
        options.offerBytes = PluginSourceOptions.offerBytes(journalQueue: journalQueue)
        let running = PluginSource(
            options, appender: JournalAppender(journal: journal), statistics: statistics,
            lanes: { [journal] in journal.lanes(of: source.name) },
            mark: { [journal] in journal.mark(of: source.name, lane: $0, $1) },
            predecessorEnd: state.withLock { $0.ends[source.name] } ?? 0, telemetry: telemetry, clock: clock,
            inspector: inspector, scrubber: { SourceScrubber(source) })
        // Before it starts, so that no commit and no room is missed.
        state.withLock { $0.running[source.name] = running }
        do throws(SystemError) {
            try running.start()
        } catch {
            telemetry.emit(SourceNotStarted(name: source.name, detail: "\(error)"))
        }
    }

    /// Stops these sources concurrently. What they have appended becomes durable, until the deadline.
    func stop(_ names: [String], by deadline: Instant) {
        let ending = state.withLock { state in names.compactMap { state.running[$0] } }
        var threads: [WorkerThread] = []
        for source in ending {
            do throws(SystemError) {
                threads.append(try WorkerThread(trying: "source stop") { source.stop(by: deadline) })
            } catch {
                // Too many threads: one after the other, then.
                source.stop(by: deadline)
            }
        }
        for thread in threads { thread.join() }
        // They are rung until they have stopped.
        state.withLock { state in
            for name in names { state.ends[name] = state.running.removeValue(forKey: name)?.appendedEnd }
        }
    }

    func stopAll(by deadline: Instant) { stop(state.withLock { Array($0.running.keys) }, by: deadline) }
}
