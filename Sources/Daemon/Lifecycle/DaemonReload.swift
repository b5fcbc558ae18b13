import Assembly
import Configuration
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
                    of: configuration, replacing: self.configuration, replaced: replaced, builder: builder,
                    sockets: sockets))
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
        return journal.segmentSize == startingJournal.segmentSize && journal.queue == startingJournal.queue
            ? [] : ["journal.segment_size and journal.queue take effect at the next start (systemctl restart penstock)"]
    }

    /// Switches to a prepared configuration. Steps that can still fail (disk, descriptors) come first and are rolled
    /// back if a later one fails.
    func apply(_ next: Preparation) throws {
        var rollback = Rollback()
        var server: ControlServer?
        var listeners: [(source: Configuration.Source, statistics: SourceStatistics, listener: Ingest.Prepared)] = []
        rollback.add { [sockets] in next.abandon(sockets) }
        do {
            if next.controlChanged || control == nil {
                let new = try openControl(next.configuration.control)
                rollback.add { new.stop() }
                server = new
            }
            for prepared in next.sources {
                let source = prepared.source
                let statistics = status.statistics(of: source.name)
                let listener = try ingest.prepare(
                    source: source.name, descriptor: prepared.socket.duplicate(), limits: SourceLimits(source),
                    admission: prepared.admission, statistics: statistics,
                    inspector: { [plan, startingJournal] in PlanInspector(plan, for: source, startingJournal) },
                    scrubber: { SourceScrubber(source) })
                listeners.append((source, statistics, listener))
            }
            rollback.add(try sockets.setAccess(next.sources.map(\.socket)))
            // Removed destinations stay declared until they have stopped. This is the last step that can fail, because
            // what it writes to the disk is not rolled back.
            try journal.declare(
                destinations: (next.configuration.destinations + configuration.destinations).map { start(of: $0) })
        } catch {
            rollback.run()
            throw error
        }

        for (source, statistics, listener) in listeners {
            status.add(source: source.name, statistics, listens: sockets.paths(source), unit: sockets.unit(source))
            ingest.serve(listener)
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
        let configured = Dictionary(
            configuration.destinations.map { ($0.name, $0.replay.eventsPerSecond) },
            uniquingKeysWith: { first, _ in first })
        for name in replays.configure(configured) { telemetry.emit(ReplayEnded(destination: name)) }
        pool.resize(configuration.routing.threads ?? RoutingThreads.usual)
        // `Preparation` has validated the options.
        if next.journalChanged {
            do {
                try journal.configure(JournalOptions(configuration.journal))
            } catch {
                preconditionFailure("validated journal options were refused: \(error)")
            }
        }
        for prepared in next.destinations {
            pipeline.start(prepared.destination.name) { [builder, configuration] in
                builder.start(prepared.prepared, prepared.destination, in: configuration)
            }
        }
        // Last, so that the first status report is complete.
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

    private func openControl(_ control: Configuration.Control) throws -> ControlServer {
        try SystemDisk().makeDirectory(Path.directory(of: control.socket), permissions: 0o755)
        return try ControlServer.open(
            path: control.socket,
            handler: ControlRequests(work: work, disk: disk, replays: replays, status: status, pipeline: pipeline),
            group: group)
    }
}
