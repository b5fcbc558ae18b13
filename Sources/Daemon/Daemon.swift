// Daemon: the composition root. The only room that sees all others: it builds the pipeline from a
// configuration, changes it at a reload, ends it, and speaks for it (status, control, systemd).
//
// - The main thread decides: it starts, reloads, stops, and watches the others' heartbeats. It
//   waits for signals and for requests from the control socket, and for nothing else.
// - Order of starting: journal, destinations, sockets, READY. Order of ending: sockets, ingest,
//   journal, destinations, cursors; so that what was accepted is durable, and what is durable is
//   offered once more within the drain's bound.
// - A configuration is applied whole or not at all: everything that can fail is done before
//   anything that runs is touched.

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
    private static let drain = Duration.seconds(10)
    /// How often status and rates are looked at.
    private static let tick = Duration.seconds(1)

    private let options: Options
    private let clock = SystemClock()
    private let signals: SignalWait
    private let service: ServiceManager
    private let telemetry: Telemetry
    private let sockets: SourceSockets
    private let group: MultiThreadedEventLoopGroup
    private let journal: Journal
    private let ingest: Ingest
    private let engine: HTTPEngine
    private let pipeline: Pipeline
    private let assembly: DestinationAssembly
    private let work: MainThreadWork
    private let status: StatusCollector
    private let replays: ReplayRequests
    private let loops: LoopHeartbeats
    private let plan: CurrentPlan
    private let log: StandardErrorLog
    private var control: ControlServer?
    private var lastSentence = ""
    private var configuration: Configuration
    /// As the journal was opened.
    private let startingJournal: Configuration.Journal
    private var watchdog: Watchdog

    /// Runs until a signal ends it.
    /// - Returns: the process's exit status: 0 after an orderly end, 78 (sysexits(3), EX_CONFIG) for
    ///   an invalid configuration, 1 for what else keeps it from starting.
    package static func run(_ options: Options) -> Int32 {
        let signals = SignalWait()
        let clock = SystemClock()
        let log = StandardErrorLog()
        let telemetry = Telemetry(sink: log, now: { clock.now().nanoseconds })
        let loaded = ConfigurationCheck.loader(pluginDirectories: options.pluginDirectories).load(file: options.configurationFile)
        for diagnostic in loaded.diagnostics { log.write(diagnostic) }
        // What is the machine's fault alone may have gone at the next try.
        guard let configuration = loaded.configuration else { return loaded.errors.allSatisfy(\.isOfMachine) ? 1 : 78 }
        do {
            let daemon = try Daemon(options, configuration, signals: signals, log: log, telemetry: telemetry)
            try daemon.start()
            daemon.serve()
            daemon.stop()
            return 0
        } catch {
            for line in "\(error)".split(separator: "\n") { log.write(.error, String(line)) }
            return 1
        }
    }

    private init(
        _ options: Options, _ configuration: Configuration, signals: SignalWait, log: StandardErrorLog,
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
        sockets = SourceSockets(activation: try SocketActivation())
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
        ingest = Ingest(group: group, appender: JournalAppender(journal: journal), clock: clock)
        engine = try HTTPEngine(clock: clock)
        pipeline = Pipeline(clock: clock)
        assembly = DestinationAssembly(journal: journal, engine: engine, clock: clock, telemetry: telemetry)
        work = MainThreadWork(signals: signals)
        status = StatusCollector(journal: journal, pipeline: pipeline, clock: clock)
        replays = ReplayRequests(journal: journal, pipeline: pipeline, clock: clock, dryRun: ReplayDryRun())
        watchdog = Watchdog(service: service, clock: clock)
    }

    // MARK: Start

    private func start() throws {
        let next = try Preparation(of: configuration, replacing: nil, assembly: assembly, pipeline: pipeline, sockets: sockets)
        journal.start(
            onDurable: { [ingest, pipeline] _ in
                pipeline.ring()
                ingest.journalCommitted()
            },
            onSpace: { [ingest] in ingest.journalHasRoom() })
        engine.start()
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
            case .wake: for request in work.take() { perform(request) }
            case nil: break
            }
            look()
        }
    }

    private func perform(_ request: MainThreadWork.Request) {
        switch request {
        case .reload(let reply): reply.respond(reload())
        case .deadLetters(let request, let reply): request.perform(reply)
        case .replay(let order, isDryRun: true, let reply): replays.count(order, reply)
        case .replay(let order, isDryRun: false, let reply):
            let destination = configuration.destinations.first { $0.name == order.destination }
            replays.begin(order, eventsPerSecond: destination?.replay.eventsPerSecond, reply)
        case .cancelReplay(let name, let reply): replays.cancel(name, reply)
        }
    }

    private func look() {
        pipeline.goOn()
        expireDeadLetters()
        status.sample()
        let sentence = status.sentence
        if sentence != lastSentence {
            service.status(sentence)
            lastSentence = sentence
        }
        watchdog.look(at: clock.now(), heartbeats, telemetry: telemetry)
    }

    private func expireDeadLetters() {
        for destination in pipeline.destinations {
            do {
                try destination.deadLetters.store.expire()
            } catch {
                telemetry.emit(DeadLettersNotExpired(detail: "\(error)"))
            }
        }
    }

    private func heartbeats() -> [String: UInt64] {
        // These grow all the time, unlike those of threads that sleep until there is work.
        var beats = ["journal": journal.heartbeat << 1 | 1, "http": engine.heartbeat << 1 | 1]
        for (number, beat) in loops.beats.enumerated() { beats["ingest \(number)"] = beat << 1 | 1 }
        // A destination that hangs harms only itself: the status says so.
        return beats
    }

    // MARK: Change

    /// Reads the configuration again and applies it, whole or not at all.
    private func reload() -> ReloadReport {
        service.reloading()
        defer { service.ready(status.sentence) }
        let loaded = ConfigurationCheck.loader(pluginDirectories: options.pluginDirectories, running: self.configuration)
            .load(file: options.configurationFile)
        for diagnostic in loaded.diagnostics { log.write(diagnostic) }
        let warnings = loaded.warnings.map(\.description)
        guard let configuration = loaded.configuration else {
            telemetry.emit(ReloadRefused())
            return ReloadReport(applied: false, errors: loaded.errors.map(\.description), warnings: warnings)
        }
        do {
            try apply(Preparation(of: configuration, replacing: self.configuration, assembly: assembly, pipeline: pipeline, sockets: sockets))
            telemetry.emit(Reloaded())
            return ReloadReport(applied: true, warnings: warnings + needingRestart())
        } catch {
            let errors = (error as? DaemonErrors)?.errors.map(\.description) ?? ["\(error)"]
            for error in errors { log.write(.error, error) }
            telemetry.emit(ReloadRefused())
            return ReloadReport(applied: false, errors: errors, warnings: warnings)
        }
    }

    /// What the configuration says and the daemon takes at its next start only.
    private func needingRestart() -> [String] {
        let journal = configuration.journal
        return journal.segmentSize == startingJournal.segmentSize && journal.queue == startingJournal.queue
            ? [] : ["journal.segment_size and journal.queue change with the next start (systemctl restart penstock)"]
    }

    /// Goes over to a prepared configuration. What can still fail (the disk, descriptors) comes
    /// before anything that runs is ended.
    private func apply(_ next: Preparation) throws {
        if next.controlChanged || control == nil {
            let server = try startControl(next.configuration.control)
            control?.stop()
            control = server
        }
        // Those that go stay declared until they have ended.
        try journal.declare(destinations: (next.configuration.destinations + configuration.destinations).map { start(of: $0) })
        for prepared in next.sources {
            let source = prepared.source
            try ingest.listen(
                source: source.name, descriptor: prepared.socket.duplicate(), limits: SourceLimits(source),
                admission: prepared.admission,
                statistics: status.statistics(of: source.name, listens: sockets.paths(source)),
                inspector: { [plan, startingJournal] in PlanInspector(plan, for: source, startingJournal) },
                scrubber: { SourceScrubber(source) })
        }
        plan.set(next.configuration.plan)
        for name in next.removedSources {
            ingest.stopListening(source: name)
            status.forget(source: name)
        }
        sockets.hold(next.sources.map { ($0.source.name, $0.socket) }, without: next.removedSources)
        for name in pipeline.stop(next.endingDestinations, by: clock.now() + Self.drain) {
            telemetry.emit(DestinationLeftBehind(name: name))
        }
        configuration = next.configuration
        for name in replays.end(without: configuration.destinations.map(\.name)) { telemetry.emit(ReplayEnded(destination: name)) }
        // It was found valid when it was prepared.
        if next.journalChanged { try journal.configure(JournalOptions(configuration.journal)) }
        for prepared in next.destinations {
            pipeline.start(prepared.destination.name) { [assembly, configuration] in
                assembly.start(prepared.prepared, prepared.destination, in: configuration)
            }
        }
        // Only now do the segments of those that went go free. If that cannot be written down, they are
        // held until the next reload or start: no reason to call this one refused.
        do {
            try journal.declare(destinations: configuration.destinations.map { start(of: $0) })
        } catch {
            telemetry.emit(SegmentsHeld(detail: "\(error)"))
        }
    }

    /// Where a destination begins if the journal has never seen it.
    private func start(of destination: Configuration.Destination) -> (name: String, start: UInt64) {
        switch destination.start {
        // Not above what is on disk: a start that a crash leaves above the journal's end would look like loss.
        case .now: (destination.name, journal.durableEnd)
        case .earliest: (destination.name, journal.firstPosition)
        // A journal that cannot be read for the time: from the beginning, since nothing may be lost.
        case .time(let time): (destination.name, (try? journal.position(at: time)) ?? journal.firstPosition)
        }
    }

    private func startControl(_ control: Configuration.Control) throws -> ControlServer {
        try SystemDisk().makeDirectory(Path.directory(of: control.socket), permissions: 0o755)
        return try ControlServer.start(
            path: control.socket, handler: ControlRequests(work: work, status: status, pipeline: pipeline), group: group)
    }

    // MARK: End

    private func stop() {
        let deadline = clock.now() + Self.drain
        service.stopping("draining")
        service.extendTimeout(by: Self.drain * 2)
        for source in sockets.hide() { ingest.stopListening(source: source) }
        ingest.drain(by: deadline, while: { sockets.areAwaited })
        ingest.stopListening()
        // What was accepted goes out as far as the deadline allows; the rest waits in the journal.
        pipeline.awaitDelivery(upTo: journal.statistics().next, by: deadline)
        pipeline.stopAll(by: deadline)
        replays.dryRun.stop()
        engine.stop()
        journal.stop()
        control?.stop()
        try? group.syncShutdownGracefully()
        telemetry.emit(Stopped())
    }
}
