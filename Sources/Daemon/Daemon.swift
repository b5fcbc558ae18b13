// Daemon: the composition root. It knows all rooms that an event passes through. It builds the pipeline from a
// configuration, changes the pipeline at a reload, drains and stops it, and reports on it (status, control, systemd).
//
// Invariants:
//
// - Start order: journal, sources, destinations, control socket, the clients that an earlier daemon has left, READY=1.
//   Destinations are declared in the journal before the sources accept events, so a new destination gets every event
//   from then on.
// - Stop order: sockets, ingest, destinations, journal. From each client, only what it has sent before is read. These
//   events become durable first. Destinations that are up then get `Daemon.backlog` to deliver what they can, and
//   batches in flight get until `Daemon.drain`; the rest stays in the journal. A client that keeps on sending, or a
//   large backlog, does not delay the stop.
// - A configuration is applied completely, or nothing changes (`DaemonReload.swift`).
//
// Threads:
//
// - The main thread starts, reloads, stops, and watches the heartbeats of the other threads. It waits only for signals,
//   for reload requests from the control socket, and for its timer.
// - Slow disk work (dead letters, replay requests, maintenance) runs on the thread of `DiskRequests`; the dry run of a
//   replay (`ReplayDryRun`), explanations of events (`ExplainRequests`) and comparisons of configurations
//   (`DiffRequests`) run on threads of their own. Each `penstock tap` has a thread (`Tapper`), which nothing waits for.
//
// It never waits without a bound for a destination. It abandons a destination whose thread hangs in a call.

import Assembly
import DaemonConfiguration
import Control
import Delivery
import Destinations
import Events
import Ingest
import Journal
import JournalAdapters
import NIOCore
import NIOPosix
import Platform
import Synchronization
import Telemetry

/// The running daemon. Main thread only.
package final class Daemon {
    package struct Options: Sendable {
        package var configurationFile: String
        /// The default of `plugins.directories`.
        package var pluginDirectories: [String]

        package init(configurationFile: String, pluginDirectories: [String]) {
            self.configurationFile = configurationFile
            self.pluginDirectories = pluginDirectories
        }
    }

    /// The time limit of a stop: what was read becomes durable, and batches in flight settle.
    static let drain = Duration.seconds(10)
    /// The time in which destinations that are up may deliver their backlog before the stop.
    static let backlog = Duration.milliseconds(300)
    /// The interval at which status and rates are sampled.
    private static let tick = Duration.seconds(1)
    /// The interval at which the configuration files are compared with the running configuration after a refused
    /// reload.
    private static let comparison = Duration.seconds(5)

    let options: Options
    let clock = SystemClock()
    private let signals: SignalWait
    let service: ServiceNotifier
    let telemetry: Telemetry
    let sockets: SourceSockets
    let group: MultiThreadedEventLoopGroup
    let journal: Journal
    let ingest: Ingest
    private let engine: HTTPEngine
    let pool: RoutingPool
    let pipeline: Pipeline
    let sourcePlugins: SourcePlugins
    let builder: DestinationBuilder
    let work: MainThreadWork
    let status: StatusCollector
    let files: RunningFiles
    let history: DeliveryHistory
    let explanations: ExplainRequests
    let diffs: DiffRequests
    let tap: LiveTap
    let replays: ReplayRequests
    let disk: DiskRequests
    private let loops: LoopHeartbeats
    let plan: CurrentPlan
    let log: DaemonLog
    var control: ControlServer?
    /// The listener for metrics; nil: there is none.
    var metrics: ControlServer?
    /// The page's listener; nil: there is none.
    var page: ControlServer?
    /// Where the page is now, for the control socket.
    let pagePlace = PagePlace()
    let metricsCollector: MetricsCollector
    private var lastSentence = ""
    var configuration: Configuration
    /// The journal's configuration at the start. Some of its keys take effect only when the journal is opened.
    let startingJournal: Configuration.Journal
    private var watchdog: Watchdog
    private var heartbeats = Heartbeats()
    private var shortWindows = ShortWindows()
    /// The last time the configuration files were compared with the running configuration; nil: compare at the next
    /// tick.
    var comparedAt: Instant?

    /// How long a start with an invalid configuration takes at least, if a client may have caused it. The unit allows
    /// 60 starts in 60 s (StartLimitBurst=).
    private static let pauseAfterInvalidConfiguration = Duration.milliseconds(1200)

    /// Runs the daemon until SIGTERM or SIGINT stops it.
    /// - Returns: the process's exit status: 0 after an orderly stop, 78 (sysexits(3), EX_CONFIG) for an invalid
    ///   configuration, 1 for any other start failure.
    package static func run(_ options: Options) -> Int32 {
        // Before the first secret is read.
        CoreDumps.leaveMemoryOut()
        FreeMemory.bound()
        let signals = SignalWait()
        let clock = SystemClock()
        let log = DaemonLog()
        let telemetry = Telemetry(sink: log, now: { clock.now().nanoseconds })
        defer {
            telemetry.finish()
            log.finish()
        }
        do {
            let activation = try SocketActivation()
            let loaded = ConfigurationCheck.loader(
                pluginDirectories: options.pluginDirectories, for: .start, sockets: activation.byName
            ).load(file: options.configurationFile)
            for diagnostic in loaded.diagnostics { log.write(diagnostic) }
            guard let configuration = loaded.configuration else {
                ServiceNotifier().failed(Self.sentence(loaded.errors))
                // systemd starts the service again at once while a client waits in a socket's queue. After 20 starts
                // in 2 s it would close the socket (TriggerLimitBurst=), and the waiting clients would get an error.
                if !activation.byName.isEmpty {
                    let end = clock.now() + Self.pauseAfterInvalidConfiguration
                    while let signal = signals.next(until: end), signal != .terminate {}
                }
                // A problem of the machine may be gone at the next start. Status 78 would keep systemd from restarting.
                return loaded.errors.allSatisfy(\.isOfMachine) ? 1 : 78
            }
            let daemon = try Daemon(
                options, configuration, activation, signals: signals, log: log, telemetry: telemetry)
            daemon.files.applied(loaded.texts, configuration, at: clock.wallClock())
            try daemon.start()
            daemon.serve()
            daemon.stop()
            return 0
        } catch {
            let lines = "\(error)".split(separator: "\n").map(String.init)
            for line in lines { log.write(.error, line) }
            ServiceNotifier().failed(lines.first ?? "the start failed")
            return 1
        }
    }

    /// The sentence that `systemctl status` shows for an invalid configuration. `systemctl status` cuts long log lines,
    /// but not this one.
    private static func sentence(_ errors: [Diagnostic]) -> String {
        guard let first = errors.first else { return "the configuration is not valid" }
        let more =
            errors.count == 1
            ? "" : ", and \(errors.count - 1) more error\(errors.count == 2 ? "" : "s"): see journalctl -u penstock"
        return "\(first.place.name): error: \(first.message)\(more)"
    }

    private init(
        _ options: Options, _ configuration: Configuration, _ activation: SocketActivation, signals: SignalWait,
        log: DaemonLog,
        telemetry: Telemetry
    ) throws {
        self.options = options
        self.configuration = configuration
        startingJournal = configuration.journal
        plan = CurrentPlan(configuration.plan)
        self.signals = signals
        self.telemetry = telemetry
        self.log = log
        service = ServiceNotifier()
        sockets = SourceSockets(activation: activation)
        // Not fatal: with a low limit, a source may run out of descriptors below its connection limit.
        do {
            try OpenFileLimit.raise()
        } catch {
            telemetry.emit(LimitNotRaised(detail: "\(error)"))
        }
        let timings = JournalTimings(clock: clock)
        journal = try Journal.open(
            directory: configuration.journal.directory,
            options: JournalOptions(configuration.journal, processors: ProcessorLimit.current), disk: SystemDisk(),
            clock: clock, telemetry: telemetry, timings: timings)
        group = MultiThreadedEventLoopGroup(numberOfThreads: EventLoopThreads.count)
        loops = LoopHeartbeats(group)
        ingest = try Ingest(
            threads: EventLoopThreads.count, appender: JournalAppender(journal: journal), clock: clock,
            telemetry: telemetry, keeper: Self.keeper(activation, service, journal, telemetry))
        engine = try HTTPEngine(clock: clock)
        pool = RoutingPool(threads: configuration.routing.threads ?? RoutingThreads.usual, clock: clock)
        pipeline = Pipeline(clock: clock)
        work = MainThreadWork(signals: signals)
        sourcePlugins = SourcePlugins(journal: journal, clock: clock, telemetry: telemetry)
        files = RunningFiles(file: options.configurationFile)
        status = StatusCollector(
            journal: journal, timings: timings, pipeline: pipeline, plugins: sourcePlugins,
            descriptors: ingest.descriptors, files: files, clock: clock)
        history = DeliveryHistory(clock: clock)
        let running = RunningConfiguration(files: files, pluginDirectories: options.pluginDirectories)
        let later = { @Sendable [group] (time: Duration, work: @escaping @Sendable () -> Void) in
            _ = group.next().scheduleTask(in: .nanoseconds(time.inNanoseconds)) { work() }
        }
        explanations = ExplainRequests(running: running, journal: journal, clock: clock, later: later)
        diffs = DiffRequests(
            running: running, journal: journal, directory: configuration.journal.directory, clock: clock, later: later)
        metricsCollector = MetricsCollector(
            status: status, journal: journal, timings: timings, pipeline: pipeline, telemetry: telemetry,
            started: clock.wallClock())
        tap = LiveTap(journal: journal, status: status, clock: clock)
        builder = DestinationBuilder(
            journal: journal, engine: engine, pool: pool, clock: clock, telemetry: telemetry, tap: tap)
        disk = DiskRequests()
        replays = ReplayRequests(journal: journal, pipeline: pipeline, clock: clock, dryRun: ReplayDryRun())
        watchdog = Watchdog(service: service, clock: clock)
    }

    /// Takes the clients that an earlier daemon has left. Without it, clients connect anew.
    private static func keeper(
        _ activation: SocketActivation, _ service: ServiceNotifier, _ journal: Journal, _ telemetry: Telemetry
    ) -> ClientKeeper? {
        do {
            return try ClientKeeper.open(
                activation, service, journal: journal.uuid.words, durable: journal.acknowledgedEnd)
        } catch {
            telemetry.emit(ConnectionsNotKept(detail: "\(error)"))
            return nil
        }
    }

    // MARK: Start

    private func start() throws {
        let next = try Preparation(of: configuration, replacing: nil, builder: builder, sockets: sockets)
        journal.start(
            onDurable: { [ingest, pipeline, sourcePlugins] _ in
                pipeline.journalCommitted()
                ingest.journalCommitted()
                sourcePlugins.journalCommitted()
            },
            onSpace: { [ingest, sourcePlugins] in
                ingest.journalHasRoom()
                sourcePlugins.journalHasRoom()
            })
        engine.start()
        pool.start()
        disk.start()
        explanations.queue.start()
        diffs.queue.start()
        // `apply` makes it durable before it serves the first socket: later starts must not take the end after new
        // events for the one that the stores were compared with.
        journal.setUnverified(
            configuration.destinations.filter(\.kind.keepsEvents).map(\.name), since: journal.recoveredEnd)
        try apply(next)
        ingest.resume()
        status.sample()
        history.sample { status.report() }
        service.ready(status.sentence)
        telemetry.emit(Started(configuration: options.configurationFile, journal: configuration.journal.directory))
    }

    // MARK: Work

    private func serve() {
        while true {
            let nextTick = clock.now() + Self.tick
            // A watchdog of a second or two is due before a whole tick is over.
            switch signals.next(until: watchdog.next.map { min($0, nextTick) } ?? nextTick, clock: clock) {
            case .terminate: return
            case .reload: _ = reload()
            case .wake: answer(work.take())
            case nil: break
            }
            tick()
        }
    }

    /// Answers all waiting requests with one reload.
    private func answer(_ waiting: [ControlReply]) {
        guard !waiting.isEmpty else { return }
        let report = reload()
        for reply in waiting { reply.respond(report) }
    }

    private func tick() {
        pipeline.startSuccessors()
        queueMaintenance()
        let stuck = heartbeats.stuck(beats, at: clock.now())
        status.note(stuckThreads: stuck)
        status.sample()
        history.sample { status.report() }
        for short in shortWindows.check(status.deduplications, at: clock.now()) { telemetry.emit(short) }
        let sentence = status.sentence
        if sentence != lastSentence {
            service.status(sentence)
            lastSentence = sentence
        }
        telemetry.flush()
        watchdog.check(at: clock.now(), stuck: Set(stuck.keys), telemetry: telemetry)
    }

    /// Queues the periodic work that may block on the disk: expiry of dead letters, lookup of receive times, and the
    /// comparison after a refused reload.
    private func queueMaintenance() {
        let now = clock.now()
        let refused = comparedAt.map { now - $0 >= Self.comparison } ?? true ? status.refusedReload : nil
        if refused != nil { comparedAt = now }
        disk.addMaintenance { [status, pipeline, telemetry, options, configuration] interruption in
            for destination in pipeline.destinations where !interruption.isRaised {
                do {
                    try destination.deadLetters.store.expire()
                } catch {
                    telemetry.emit(DeadLettersNotExpired(detail: "\(error)"))
                }
            }
            status.lookForDamage()
            status.lookUp(status.unknownTimes(), while: { !interruption.isRaised })
            if let refused, Self.runs(configuration, options) { status.forget(refused) }
        }
    }

    /// Whether the configuration files equal the running configuration.
    private static func runs(_ configuration: Configuration, _ options: Options) -> Bool {
        let loader = ConfigurationLoader(pluginDirectories: options.pluginDirectories, accounts: .system)
        guard let files = loader.load(file: options.configurationFile).configuration else { return false }
        return ConfigurationDifference(from: configuration, to: files).isEmpty
    }

    private var beats: [String: UInt64] {
        // These counters grow even while their threads are idle. `<< 1 | 1` marks them as always busy, so that a
        // counter that stands still means a stuck thread.
        var beats = [
            "journal": journal.heartbeat << 1 | 1, "http": engine.heartbeat << 1 | 1, "routing": pool.heartbeat,
        ]
        for (number, beat) in loops.beats.enumerated() { beats["control \(number)"] = beat << 1 | 1 }
        for (thread, beat) in ingest.heartbeats { beats[thread] = beat }
        // Destinations are left out: one that hangs harms only itself, and its status line reports it.
        return beats
    }

    // MARK: End

    private func stop() {
        let deadline = clock.now() + Self.drain
        status.noteStopping()
        disk.requestStop()
        explanations.queue.requestStop()
        diffs.queue.requestStop()
        replays.dryRun.requestStop()
        tap.requestStop()
        service.stopping("draining")
        service.extendTimeout(by: Self.drain * 2)
        for source in sockets.hide() { ingest.stopListening(source: source) }
        // One that hangs leaves half of the time to the destinations.
        sourcePlugins.stopAll(by: clock.now() + Self.drain / 2)
        ingest.drain(by: deadline, while: { sockets.areAwaited })
        ingest.stopListening()
        let backlogEnd = min(deadline, clock.now() + Self.backlog)
        pipeline.awaitDelivery(upTo: journal.statistics().next, by: backlogEnd)
        pipeline.stopAll(by: deadline)
        // All were interrupted above. A thread that hangs in a disk call is abandoned.
        disk.awaitEnd(by: clock.now() + .seconds(1))
        explanations.queue.awaitEnd(by: clock.now() + .seconds(1))
        diffs.queue.awaitEnd(by: clock.now() + .seconds(1))
        replays.dryRun.awaitEnd(by: clock.now() + .seconds(1))
        tap.awaitEnd(by: clock.now() + .seconds(1))
        // A turn that does not return is abandoned, like its destination.
        pool.stop(by: max(deadline, clock.now() + .seconds(1)))
        engine.stop()
        journal.stop()
        ingest.stop()
        control?.stop()
        metrics?.stop()
        page?.stop()
        try? group.syncShutdownGracefully()
        telemetry.finish()
        telemetry.emit(Stopped())
    }
}
