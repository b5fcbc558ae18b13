import Assembly
import DaemonConfiguration
import Control
import Delivery
import Destinations
import Events
import Ingest
import Journal
import Platform
import PluginHosting
import Telemetry

/// Applies a configuration completely, or changes nothing. All steps that can fail come before the first change to
/// anything that runs, and are undone if a later one fails.
extension Daemon {
    /// Reads the configuration files again and applies them. If that fails, the running configuration stays in effect.
    func reload() -> ReloadReport {
        service.reloading()
        defer { service.ready(status.sentence) }
        let loaded = ConfigurationCheck.loader(
            pluginDirectories: options.pluginDirectories, for: .reload(from: self.configuration),
            sockets: sockets.passed
        ).load(file: options.configurationFile)
        for diagnostic in loaded.diagnostics { log.write(diagnostic) }
        let warnings = loaded.warnings.map(\.description)
        guard let configuration = loaded.configuration else {
            return refused(loaded.errors.map(\.description), warnings)
        }
        do {
            let replaced = pipeline.destinations.filter { $0.plugin?.isReplaced ?? false }.map(\.worker.name)
            try apply(
                Preparation(
                    of: configuration, replacing: self.configuration, replaced: replaced,
                    replacedSources: sourcePlugins.replaced, builder: builder, sockets: sockets))
            files.applied(loaded.texts, configuration, at: clock.wallClock())
            telemetry.emit(Reloaded())
            status.note(refusedReload: nil)
            let later = needingRestart()
            for warning in later { log.write(.warning, warning) }
            return ReloadReport(applied: true, warnings: warnings + later)
        } catch {
            let errors = (error as? OperatorErrors)?.errors.map(\.description) ?? ["\(error)"]
            for error in errors { log.write(.error, error) }
            return refused(errors, warnings)
        }
    }

    private func refused(_ errors: [String], _ warnings: [String]) -> ReloadReport {
        telemetry.emit(ReloadRefused())
        let seconds = clock.wallClock() / 1_000_000_000
        status.note(refusedReload: .init(time: Timestamp.format(seconds * 1_000_000_000), errors: errors))
        comparedAt = nil
        return ReloadReport(applied: false, errors: errors, warnings: warnings)
    }

    /// Warnings about changed keys that take effect only at the next start.
    private func needingRestart() -> [String] {
        let journal = configuration.journal
        let isSame =
            journal.segmentSize == startingJournal.segmentSize && journal.memory == startingJournal.memory
            && journal.queue == startingJournal.queue
        return isSame
            ? []
            : [
                "journal.segment_size, journal.memory and journal.queue take effect at the next start"
                    + " (systemctl restart penstock)"
            ]
    }

    /// Does what can fail before a source's sockets are served.
    private func listen(
        _ prepared: Preparation.PreparedSource, _ statistics: SourceStatistics
    ) throws -> [Ingest.Prepared] {
        let source = prepared.source
        func listen(_ socket: HeldSocket, _ transport: Ingest.Transport) throws -> Ingest.Prepared {
            try ingest.prepare(
                source: source.name, descriptor: socket.duplicate(), transport: transport,
                limits: SourceLimits(source), admission: prepared.admission, statistics: statistics,
                http: HTTPAccess(source, overTCP: socket.address != nil),
                inspector: { [plan, startingJournal] in PlanInspector(plan, for: source, startingJournal) },
                scrubber: { SourceScrubber(source) })
        }
        return try (prepared.socket.map { [try listen($0, .unix)] } ?? [])
            + (prepared.tcp.map { [try listen($0, .tcp(prepared.tls))] } ?? [])
    }

    /// Switches to a prepared configuration. Steps that can still fail (disk, descriptors) come first and are rolled
    /// back if a later one fails.
    func apply(_ next: Preparation) throws {
        var rollback = Rollback()
        var server: ControlServer?
        var metrics: ControlServer?
        var page: (server: ControlServer, place: PageReport)?
        var listeners: [(source: Preparation.PreparedSource, statistics: SourceStatistics, [Ingest.Prepared])] = []
        var datagrams: [Datagrams.Prepared] = []
        var deduplications: [() -> Void] = []
        rollback.add { [sockets] in next.abandon(sockets) }
        do {
            if next.controlChanged || control == nil {
                let new = try openControl(next.configuration.control)
                rollback.add { new.stop() }
                server = new
            }
            if next.metricsChanged, let address = next.configuration.control.metrics {
                let new = try openMetrics(at: address)
                rollback.add { new.stop() }
                metrics = new
            }
            if next.pageChanged, let listener = next.configuration.control.page {
                let new = try openPage(at: listener, in: next.configuration.control)
                rollback.add { new.server.stop() }
                page = new
            }
            for prepared in next.sources {
                let source = prepared.source
                let statistics = status.statistics(of: source.name)
                listeners.append((prepared, statistics, try listen(prepared, statistics)))
                if let socket = prepared.datagrams {
                    datagrams.append(
                        try ingest.datagrams.prepare(
                            source: source.name, descriptor: socket.duplicate(), path: socket.place?.path,
                            limits: SourceLimits(source), admission: prepared.admission, statistics: statistics,
                            inspector: { [plan, startingJournal] in PlanInspector(plan, for: source, startingJournal) },
                            scrubber: { SourceScrubber(source) }))
                }
            }
            rollback.add(try sockets.setAccess(next.sources.flatMap(\.sockets).map(\.socket)))
            for (prepared, statistics, _) in listeners {
                deduplications.append(
                    try prepareDeduplication(of: prepared.source, statistics.deduplication, &rollback))
            }
            // Removed destinations stay declared until they have stopped. This is the last step that can fail, because
            // what it writes to the disk is not rolled back.
            try journal.declare(
                destinations: (next.configuration.destinations + configuration.destinations).map { start(of: $0) })
        } catch {
            rollback.run()
            throw error
        }

        for finish in deduplications { finish() }
        for (prepared, statistics, listeners) in listeners {
            let source = prepared.source
            status.add(
                source: source.name, statistics, listens: sockets.places(source, tcp: prepared.tcp),
                unit: sockets.unit(source))
            for listener in listeners { ingest.serve(listener) }
        }
        for prepared in datagrams { ingest.datagrams.serve(prepared) }
        plan.set(next.configuration.plan)
        for name in next.removedSockets { ingest.remove(source: name) }
        for name in next.removedSources { status.forget(source: name) }
        sockets.hold(next.sources.flatMap(\.sockets), without: next.removedSockets)
        replaceSourcePlugins(next)
        for name in pipeline.stop(next.endingDestinations, by: clock.now() + Self.drain) {
            telemetry.emit(DestinationLeftBehind(name: name))
        }
        configuration = next.configuration
        let configured = Dictionary(
            configuration.destinations.map { ($0.name, $0.replay.eventsPerSecond) },
            uniquingKeysWith: { first, _ in first })
        for name in replays.configure(configured) { telemetry.emit(ReplayEnded(destination: name)) }
        pool.resize(configuration.routing.threads ?? RoutingThreads.usual)
        // `Preparation` has validated the options.
        if next.journalChanged {
            do {
                try journal.configure(JournalOptions(configuration.journal, processors: ProcessorLimit.current))
            } catch {
                preconditionFailure("validated journal options were refused: \(error)")
            }
        }
        for prepared in next.destinations {
            pipeline.start(prepared.destination.name) { [builder, configuration] in
                builder.start(prepared.prepared, prepared.destination, in: configuration)
            }
        }
        if next.metricsChanged {
            self.metrics?.stop()
            self.metrics = metrics
            status.note(metrics: metrics?.localAddress.map { "http://\($0)/metrics" })
        }
        if next.pageChanged {
            self.page?.stop()
            self.page = page?.server
            pagePlace.report = page?.place
        }
        // Last, so that the first status report is complete.
        metrics?.serve()
        page?.server.serve()
        if let server {
            control?.stop()
            control = server
            server.serve()
        }
        // From here on, removed destinations no longer hold segments. If that cannot be written, the segments are held
        // until the next reload or start; the reload has succeeded all the same.
        do {
            try journal.declare(destinations: configuration.destinations.map { start(of: $0) })
        } catch {
            telemetry.emit(SegmentsHeld(detail: "\(error)"))
        }
    }

    private func replaceSourcePlugins(_ next: Preparation) {
        sourcePlugins.stop(next.endingSourcePlugins, by: clock.now() + Self.drain)
        for (source, plugin) in next.sourcePlugins {
            let statistics = status.statistics(of: source.name)
            status.add(source: source.name, statistics, listens: [], unit: nil)
            statistics.deduplication.end()
            sourcePlugins.start(
                source, plugin, in: next.configuration.plugins.directories, statistics: statistics,
                journalQueue: startingJournal.queue,
                inspector: { [plan, startingJournal] in PlanInspector(plan, for: source, startingJournal) })
        }
    }

    /// The first position for a destination that is new to the journal.
    private func start(of destination: Configuration.Destination) -> (name: String, start: UInt64) {
        switch destination.start {
        // The durable end, not the end: after a crash, a start above the journal's end would look like lost events.
        case .now: (destination.name, journal.durableEnd)
        case .earliest: (destination.name, journal.firstPosition)
        // If the journal cannot be searched by time, start at its beginning, so that no event is skipped.
        case .time(let time): (destination.name, (try? journal.position(at: time)) ?? journal.firstPosition)
        }
    }
}
