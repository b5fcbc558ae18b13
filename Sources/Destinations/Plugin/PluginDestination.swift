// Sink plugins: third-party libraries that implement penstock_plugin.h, loaded with dlopen (PluginHosting).
//
// - The host calls a plugin only as the contract allows, on one thread at a time (PluginInstance).
// - A plugin may break the contract: it may settle a batch late, twice, never, or without having been given it. Each
//   event is still settled exactly once (SettlementTable). Memory that a plugin may still read is freed only after the
//   plugin has released it or has stopped (PluginBatch).
// - A plugin whose position is ahead of the journal is not opened: new events get these positions, and it would take
//   them for events that it has (ResumePoint, PositionBound).
// - With `isolation: process`, the plugin runs in a process of its own (ProcessInstance): whatever it does there, this
//   process, its sockets and its other destinations go on. A process that ends, hangs past a deadline or breaks the
//   protocol is replaced, and delivery continues at the last checkpoint: events that the process took since then may be
//   lost with it. With `isolation: none`, a plugin that crashes ends this process, too.

import Delivery
import Events
import Platform
import PluginHosting
import Telemetry

package struct PluginDestinationOptions: Sendable {
    package enum Isolation: String, Sendable, CaseIterable { case process, none }

    /// The destination's name in the configuration.
    package var destination: String
    /// The plugin's name: its file is NAME.so or libNAME.so in one of the directories.
    package var plugin: String
    package var directories: [String]
    package typealias Limits = PluginLimits

    /// Whether the plugin runs in a process of its own.
    package var isolation = Isolation.process
    package var limits = Limits()
    /// The program of that process.
    package var hostProgram = PluginHostProgram.path
    /// The JSON text of an object, with secrets filled in.
    package var settings: String
    /// The absolute directory that relative paths in the settings start from.
    package var directory = "/"
    /// The time to settle a batch. After it, the batch's events are offered again.
    package var deadline: Duration
    /// How long a plugin may be busy before the batch is returned to the worker. The worker retries with its own
    /// backoff and can do other work meanwhile.
    package var busyPatience: Duration = .seconds(1)
    /// The wait between two offers to a busy plugin that doesn't call `ready`.
    package var busyPause: Duration = .milliseconds(20)
    /// The id of the journal that positions refer to; empty if unknown.
    package var journal: String
    /// The least severe level that is logged.
    package var logLevel: Level

    package init(
        destination: String, plugin: String, directories: [String], settings: String = "{}",
        deadline: Duration = .seconds(30), journal: String = "", logLevel: Level = .info
    ) {
        self.destination = destination
        self.plugin = plugin
        self.directories = directories
        self.settings = settings
        self.deadline = deadline
        self.journal = journal
        self.logLevel = logLevel
    }
}

/// Delivers events to a sink plugin.
package final class PluginDestination: Destination {
    /// The most batches that a plugin may hold past their deadline. At that number it gets no further batch.
    static let maximumOverdue = 8

    package private(set) var limits = DestinationLimits()
    /// nil: not loaded yet.
    package var plugin: PluginDescription? { instance?.description }

    private let options: PluginDestinationOptions
    private let telemetry: Telemetry
    private let clock: any Clock
    private let bound: (any PositionBound)?
    private var host: PluginHost?
    private var instance: (any PluginEndpoint)?
    private var watch: DeadlineWatch?
    private var isConnected = false
    private var heldThrough: UInt64?
    /// Why the plugin lost its connection to a store that keeps the position; nil: it has not. Behind the next
    /// connection may be another store, such as a replica that lacks the last events. So the destination must be opened
    /// again, at the position that this store has.
    private var lost: String?
    private var wake: @Sendable () -> Void = {}

    /// Loads nothing: `open` does. So a plugin that cannot be loaded holds its destination, and nothing else.
    /// - Parameter bound: the journal's end, with which the plugin's position is compared; nil: there is no journal.
    package init(
        _ options: PluginDestinationOptions, telemetry: Telemetry, clock: any Clock = SystemClock(),
        bound: (any PositionBound)? = nil
    ) {
        self.bound = bound
        self.options = options
        self.telemetry = telemetry
        self.clock = clock
        running = RunningPlugin(named: options.plugin, in: options.directories)
    }

    deinit { close() }

    /// The plugin's own metrics. Call it on the worker, like every method here.
    package var metrics: PluginMetrics { host?.reporting.metrics ?? PluginMetrics() }

    /// What other threads may know of the plugin.
    package let running: RunningPlugin

    package func attach(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    /// The process may have kept delivered events in memory until the next flush.
    package var failure: String? { lost ?? instance?.end }

    /// Finds, checks and loads the plugin if it is not loaded, and validates the settings against its schema.
    package func open(from cursor: Cursor) throws -> UInt64? {
        let host = self.host ?? makeHost()
        self.host = host
        if let instance, instance.end != nil {
            instance.destroy()
            self.instance = nil
            isConnected = false
        }
        let instance: any PluginEndpoint
        if let living = self.instance { instance = living } else { instance = try makeInstance(host) }
        self.instance = instance
        limits = DestinationLimits(
            maximumBatchEvents: instance.maximumBatchEvents, maximumBatchBytes: instance.maximumBatchBytes,
            maximumInFlight: instance.maximumInFlight)
        if !isConnected {
            try instance.connect()
            isConnected = true
        }
        let durable = try instance.durablePosition()
        let end = bound?.end ?? .max
        let resume = ResumePoint(cursor: cursor, durable: durable, end: end)
        if let ahead = resume.ahead {
            let refusal = Self.refusal(of: instance.description.name, at: ahead, end, cursor)
            // The next attempt connects anew: the operator may have emptied the store.
            close()
            try bound?.refuse(at: end)
            throw PluginError(.failed, refusal)
        }
        try bound?.verify()
        lost = nil
        if let before = resume.wentBackFrom {
            telemetry.emit(PluginStoreWentBack(destination: options.destination, before: before, now: durable))
        }
        heldThrough = resume.heldThrough
        if watch == nil { watch = try DeadlineWatch(host, clock) }
        return resume.start
    }

    private static func refusal(of plugin: String, at position: UInt64, _ end: UInt64, _ cursor: Cursor) -> String {
        let twice =
            cursor.position < end
            ? "the events of positions \(cursor.position) to \(end) (exclusive) may be stored twice"
            : "no event is stored twice"
        return """
            the store of the plugin \(plugin) is ahead of the journal: it has events up to position \(position), but \
            the journal ended at position \(end), because it is an older copy or a power cut took its newest events. \
            The store would take new events for those that it has. Set another table (redis: another \
            settings.position_key): delivery begins there at the cursor, and \(twice)
            """
    }

    private func makeInstance(_ host: PluginHost) throws(PluginError) -> any PluginEndpoint {
        running.noteFile()
        let file = try PluginFile(named: options.plugin, in: options.directories)
        running.note(file.file.identity)
        let build = file.build
        let instance: any PluginEndpoint =
            switch options.isolation {
            case .none: try PluginInstance(PluginLibrary.load(file), host, options)
            case .process: try ProcessInstance(file, options, host, clock)
            }
        let plugin = instance.description
        running.note(plugin, build: build) { [reporting = host.reporting] in reporting.metrics }
        telemetry.emit(PluginLoaded(owner: .destination(options.destination), plugin: plugin, build: build))
        return instance
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        guard let host, let instance else {
            return claim.settle(.all(.retry(reason: "the plugin is not open")))
        }
        if let lost { return claim.settle(.all(.retry(reason: lost))) }
        let held = countHeld(batch)
        guard held < batch.events.count else { return claim.settle(.all(.delivered)) }
        guard host.overdue < Self.maximumOverdue else {
            let reason = "the plugin holds \(Self.maximumOverdue) batches past their deadline and gets no more batches"
            return claim.settle(.all(.hold(reason: reason)))
        }
        if !isConnected {
            do throws(PluginError) {
                try instance.connect()
                isConnected = true
            } catch {
                telemetry.emit(PluginFailed(destination: options.destination, reason: error.description))
                return claim.settle(.all(.retry(reason: error.description)))
            }
        }
        offer(PluginBatch(batch, held: held, claim), to: instance, host)
    }

    package func checkpoint() throws -> [UInt8]? {
        guard let instance else { return nil }
        if let end = failure { throw PluginError(.failed, end) }
        try instance.flush()
        return try instance.durablePosition().map(ResumePoint.state)
    }

    /// The destination may be opened again, with a new instance of the plugin.
    package func close() {
        instance?.stop()
        watch?.stop()
        host?.close()
        instance?.destroy()
        instance = nil
        watch = nil
        isConnected = false
    }

    private func makeHost() -> PluginHost {
        let host = PluginHost(
            destination: options.destination, journal: options.journal, telemetry: telemetry, minimum: options.logLevel)
        host.onEnd(wake)
        return host
    }

    /// Offers the batch until the plugin takes it, fails, or has been busy for too long.
    private func offer(_ batch: PluginBatch, to instance: any PluginEndpoint, _ host: PluginHost) {
        let patience = clock.now() + options.busyPatience
        while true {
            let deadline = clock.now() + options.deadline
            let (token, first) = host.add(batch, deadline: deadline)
            if first { watch?.wake() }
            switch instance.deliver(batch, token: token, deadline: deadline) {
            case .taken: return
            case .failed where instance.end != nil:
                // `failure` tells the worker, which closes this destination; that drops the batch.
                return
            case .failed(let reason):
                isConnected = false
                if instance.keepsPosition {
                    lost = reason
                    wake()
                }
                telemetry.emit(PluginFailed(destination: options.destination, reason: reason))
                if host.withdraw(token) { batch.settle(.all(.retry(reason: reason))) }
                return
            case .busy:
                guard host.withdraw(token) else { return }
                let now = clock.now()
                guard now < patience else { return batch.settle(.all(.retry(reason: "the plugin is busy"))) }
                host.room.wait(until: now + options.busyPause)
            }
        }
    }

    /// The number of events at the front that the plugin already held before the restart. Positions ascend within a
    /// batch.
    private func countHeld(_ batch: OutboundBatch) -> Int {
        // Backfilled events are always offered, whatever the plugin holds.
        guard let heldThrough, batch.livePosition == nil else { return 0 }
        return batch.events.firstIndex { $0.position > heldThrough } ?? batch.events.count
    }
}
