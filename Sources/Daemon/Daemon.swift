// Daemon: the composition root. The only room that sees all others: it builds the pipeline from a
// configuration, changes it at a reload, ends it, and speaks for it (status, control, systemd).
//
// - The main thread decides: it starts, reloads, stops, and watches the others' heartbeats. It
//   waits for signals and for requests from the control socket, and for nothing else.
// - Order of starting: journal, destinations, sockets, READY. Order of ending: sockets, ingest,
//   journal, destinations, cursors; so that what was accepted is durable, and what is durable is
//   offered once more within the drain's bound.
// - A configuration is applied whole or not at all (`DaemonReload.swift`).
// - What may take long on the disk (dead letters, replays) has a thread of its own (`DiskRequests`).

import Configuration
import Control
import Delivery
import Destinations
import Events
import Ingest
import Journal
import NIOCore
import NIOPosix
import Platform
import Seams
import Synchronization
import Telemetry

/// The running daemon. Everything on the main thread.
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

    /// How long the end may take: what is in flight settles, and what is durable is delivered,
    /// as far as that goes.
    static let drain = Duration.seconds(10)
    /// How often status and rates are looked at.
    private static let tick = Duration.seconds(1)
    /// How often the files are compared with what runs, after a refused reload.
    private static let comparison = Duration.seconds(5)

    let options: Options
    let clock = SystemClock()
    private let signals: SignalWait
    let service: ServiceManager
    let telemetry: Telemetry
    let sockets: SourceSockets
    let group: MultiThreadedEventLoopGroup
    let journal: Journal
    let ingest: Ingest
    private let engine: HTTPEngine
    let pool: RoutingPool
    let pipeline: Pipeline
    let assembly: DestinationAssembly
    let work: MainThreadWork
    let status: StatusCollector
    let replays: ReplayRequests
    let disk: DiskRequests
    private let loops: LoopHeartbeats
    let plan: CurrentPlan
    let log: StandardErrorLog
    var control: ControlServer?
    private var lastSentence = ""
    var configuration: Configuration
    /// As the journal was opened.
    let startingJournal: Configuration.Journal
    private var watchdog: Watchdog
    private var heartbeats = Heartbeats()
    /// When the files were compared with what runs.
    var comparedAt: Instant?

    /// Runs until a signal ends it.
    /// - Returns: the process's exit status: 0 after an orderly end, 78 (sysexits(3), EX_CONFIG) for
    ///   an invalid configuration, 1 for what else keeps it from starting.
    package static func run(_ options: Options) -> Int32 {
        // Before the first secret is read.
        CoreDumps.leaveMemoryOut()
        let signals = SignalWait()
        let clock = SystemClock()
        let log = StandardErrorLog()
        let telemetry = Telemetry(sink: log, now: { clock.now().nanoseconds })
        do {
            let activation = try SocketActivation()
            let loaded = ConfigurationCheck.loader(
                pluginDirectories: options.pluginDirectories, for: .start, sockets: activation.byName
            ).load(file: options.configurationFile)
            for diagnostic in loaded.diagnostics { log.write(diagnostic) }
            guard let configuration = loaded.configuration else {
                ServiceManager().failed(Self.sentence(loaded.errors))
                // What is the machine's fault alone may have gone at the next try.
                return loaded.errors.allSatisfy(\.isOfMachine) ? 1 : 78
            }
            let daemon = try Daemon(options, configuration, activation, signals: signals, log: log, telemetry: telemetry)
            try daemon.start()
            daemon.serve()
            daemon.stop()
            return 0
        } catch {
            let lines = "\(error)".split(separator: "\n").map(String.init)
            for line in lines { log.write(.error, line) }
            ServiceManager().failed(lines.first ?? "the start failed")
            return 1
        }
    }

    /// What `systemctl status` shows of a configuration that is not valid: its log's lines are cut there, this is not.
    private static func sentence(_ errors: [Diagnostic]) -> String {
        guard let first = errors.first else { return "the configuration is not valid" }
        let more = errors.count == 1 ? "" : ", and \(errors.count - 1) more error\(errors.count == 2 ? "" : "s"): see journalctl -u penstock"
        return "\(first.place.name): error: \(first.message)\(more)"
    }

    private init(
        _ options: Options, _ configuration: Configuration, _ activation: SocketActivation, signals: SignalWait, log: StandardErrorLog,
        telemetry: Telemetry
    ) throws {
        self.options = options
        self.configuration = configuration
        startingJournal = configuration.journal
        plan = CurrentPlan(configuration.plan)
        self.signals = signals
        self.telemetry = telemetry
        self.log = log
        service = ServiceManager()
        sockets = SourceSockets(activation: activation)
        // More descriptors are better; with those there are, a source's max_connections may not be
        // reached.
        do {
            try OpenFileLimit.raise()
        } catch {
            telemetry.emit(LimitNotRaised(detail: "\(error)"))
        }
        journal = try Journal.open(
            directory: configuration.journal.directory, options: JournalOptions(configuration.journal),
            disk: SystemDisk(), clock: clock, telemetry: telemetry)
        group = MultiThreadedEventLoopGroup(numberOfThreads: EventLoopThreads.count)
        loops = LoopHeartbeats(group)
        ingest = try Ingest(
            threads: EventLoopThreads.count, appender: JournalAppender(journal: journal), clock: clock, telemetry: telemetry)
        engine = try HTTPEngine(clock: clock)
        pool = RoutingPool(threads: configuration.routing.threads ?? RoutingThreads.usual, clock: clock)
        pipeline = Pipeline(clock: clock)
        assembly = DestinationAssembly(journal: journal, engine: engine, pool: pool, clock: clock, telemetry: telemetry)
        work = MainThreadWork(signals: signals)
        status = StatusCollector(journal: journal, pipeline: pipeline, descriptors: ingest.descriptors, clock: clock)
        disk = DiskRequests()
        replays = ReplayRequests(journal: journal, pipeline: pipeline, clock: clock, dryRun: ReplayDryRun())
        watchdog = Watchdog(service: service, clock: clock)
    }

    // MARK: Start

    private func start() throws {
        let next = try Preparation(of: configuration, replacing: nil, assembly: assembly, sockets: sockets)
        journal.start(
            onDurable: { [ingest, pipeline] _ in
                pipeline.ring()
                ingest.journalCommitted()
            },
            onSpace: { [ingest] in ingest.journalHasRoom() })
        engine.start()
        pool.start()
        disk.start()
        try apply(next)
        status.sample()
        service.ready(status.sentence)
        telemetry.emit(Started(configuration: options.configurationFile, journal: configuration.journal.directory))
    }

    // MARK: Work

    private func serve() {
        while true {
            let tick = clock.now() + Self.tick
            // A watchdog of a second or two is due before a whole tick is over.
            switch signals.next(until: watchdog.next.map { min($0, tick) } ?? tick, clock: clock) {
            case .terminate: return
            case .reload: _ = reload()
            case .wake: answer(work.take())
            case nil: break
            }
            look()
        }
    }

    /// One reload answers everybody who asked before it began.
    private func answer(_ waiting: [ControlReply]) {
        guard !waiting.isEmpty else { return }
        let report = reload()
        for reply in waiting { reply.respond(report) }
    }

    private func look() {
        pipeline.goOn()
        keepHouse()
        let stuck = heartbeats.stuck(beats, at: clock.now())
        status.note(stuckThreads: stuck)
        status.sample()
        let sentence = status.sentence
        if sentence != lastSentence {
            service.status(sentence)
            lastSentence = sentence
        }
        watchdog.look(at: clock.now(), stuck: Set(stuck.keys), telemetry: telemetry)
    }

    /// What has to be done now and then and may wait for the disk.
    private func keepHouse() {
        let now = clock.now()
        let refused = comparedAt.map { now - $0 >= Self.comparison } ?? true ? status.refusedReload : nil
        if refused != nil { comparedAt = now }
        disk.keepHouse { [status, pipeline, telemetry, options, configuration] interruption in
            for destination in pipeline.destinations where !interruption.isRaised {
                do {
                    try destination.deadLetters.store.expire()
                } catch {
                    telemetry.emit(DeadLettersNotExpired(detail: "\(error)"))
                }
            }
            status.lookUp(status.unknownTimes(), while: { !interruption.isRaised })
            if let refused, Self.runs(configuration, options) { status.forget(refused) }
        }
    }

    /// Whether the files say what runs.
    private static func runs(_ configuration: Configuration, _ options: Options) -> Bool {
        let loader = ConfigurationLoader(pluginDirectories: options.pluginDirectories, accounts: .system)
        guard let files = loader.load(file: options.configurationFile).configuration else { return false }
        return ConfigurationDifference(from: configuration, to: files).isEmpty
    }

    private var beats: [String: UInt64] {
        // These grow all the time, unlike those of threads that sleep until there is work.
        var beats = ["journal": journal.heartbeat << 1 | 1, "http": engine.heartbeat << 1 | 1, "routing": pool.heartbeat]
        for (number, beat) in loops.beats.enumerated() { beats["control \(number)"] = beat << 1 | 1 }
        for (thread, beat) in ingest.heartbeats { beats[thread] = beat }
        // A destination that hangs harms only itself: its own line of the status shows it.
        return beats
    }

    // MARK: End

    private func stop() {
        let deadline = clock.now() + Self.drain
        disk.requestStop()
        replays.dryRun.requestStop()
        service.stopping("draining")
        service.extendTimeout(by: Self.drain * 2)
        for source in sockets.hide() { ingest.stopListening(source: source) }
        ingest.drain(by: deadline, while: { sockets.areAwaited })
        ingest.stopListening()
        // What was accepted goes out as far as the deadline allows; the rest waits in the journal.
        pipeline.awaitDelivery(upTo: journal.statistics().next, by: deadline)
        pipeline.stopAll(by: deadline)
        // They were interrupted when the stop began; one that hangs in a call to the disk is left behind.
        disk.awaitEnd(by: clock.now() + .seconds(1))
        replays.dryRun.awaitEnd(by: clock.now() + .seconds(1))
        // A turn that does not return is left behind, as its destination was.
        pool.stop(by: max(deadline, clock.now() + .seconds(1)))
        engine.stop()
        journal.stop()
        ingest.stop()
        control?.stop()
        try? group.syncShutdownGracefully()
        telemetry.emit(Stopped())
    }
}
