import Events
import Ingest
import Platform
import PluginHosting
import Synchronization
import Telemetry

/// One configured source plugin. Any thread.
package final class PluginSource: Sendable {
    /// What other threads may know of the plugin: what was loaded, and whether its file has been replaced.
    package let running: RunningPlugin

    private let control: SourceControl
    private let board: SourceBoard
    private let clock: any Clock
    private let appender: any EventAppender
    private let name: String
    private let makeWorker: @Sendable () -> SourceWorker
    private let thread = Mutex<WorkerThread?>(nil)

    /// Loads nothing: `start` does, on the source's thread. So a plugin that cannot be loaded stops its source alone.
    /// - Parameters:
    ///   - lanes: the position of each lane that the journal holds durably for this source. Called before each start of
    ///     the plugin, on the source's thread.
    ///   - mark: how far the journal holds durably what a lane has brought in of an origin. Called for each offer with
    ///     an origin.
    ///   - predecessorEnd: `appendedEnd` of a source of the same name that was stopped before; 0: there was none.
    ///   - inspector: creates the inspector if events are checked before they are stored, on the source's thread.
    ///   - scrubber: creates the scrubber if events are scrubbed before they are stored, on the source's thread.
    package init(
        _ options: PluginSourceOptions, appender: any EventAppender, statistics: SourceStatistics,
        lanes: @escaping @Sendable () -> [LanePosition],
        mark: @escaping @Sendable (_ lane: String, _ origin: OriginID) -> OriginPlace? = { _, _ in nil },
        predecessorEnd: UInt64 = 0, telemetry: Telemetry,
        clock: any Clock = SystemClock(), inspector: @escaping @Sendable () -> (any EventInspector)? = { nil },
        scrubber: @escaping @Sendable () -> (any EventScrubber)? = { nil }
    ) {
        let running = RunningPlugin(named: options.plugin, in: options.directories)
        let control = SourceControl()
        let board = SourceBoard(readyLag: options.readyLag)
        self.running = running
        self.control = control
        self.board = board
        self.clock = clock
        self.appender = appender
        name = options.name
        control.noteAppended(predecessorEnd)
        makeWorker = {
            SourceWorker(
                options, control: control, board: board, running: running,
                admission: OfferAdmission(
                    source: options.name,
                    admission: EventAdmission(
                        limits: options.events, appender: appender, statistics: statistics, clock: clock,
                        inspector: inspector(), scrubber: scrubber()), statistics: statistics,
                    marks: OriginMarks(stored: mark), clock: clock),
                durableEnd: { appender.durableEnd }, lanes: lanes, telemetry: telemetry, clock: clock)
        }
    }

    /// Starts the source's thread. Call once.
    /// - Throws: the process may not create another thread now.
    package func start() throws(SystemError) {
        let thread = try WorkerThread(trying: "source \(name)") { [makeWorker] in makeWorker().run() }
        self.thread.withLock { $0 = thread }
    }

    /// Stops the plugin, waits until the offers that were appended are durable, reports them to the plugin, and ends
    /// its process. At the deadline the process is ended in whatever state it is. Not on a thread of the journal.
    package func stop(by deadline: Instant) {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        control.stop(by: deadline)
        control.waitForEnd(until: deadline)
        control.terminate("the plugin did not stop in time")
        thread.join()
    }

    /// The journal's position after the last event that this source, or its predecessor, appended.
    package var appendedEnd: UInt64 { control.appendedEnd }

    /// The journal has committed: offers may be stored. Cheap if none waits.
    package func journalCommitted() { control.journalCommitted(appender) }

    /// The journal has room again after it was busy.
    package func journalHasRoom() { control.journalHasRoom() }

    package var status: PluginSourceStatus { board.status(running.facts, at: clock.now()) }
}
