// Sink plugins: libraries of somebody else's, loaded with dlopen, that speak penstock_plugin.h.
//
// - Only a file that nobody but root and we ourselves could have changed is loaded, and what was
//   checked is what is loaded (PluginFile, PluginLibrary).
// - A plugin is asked only what the contract allows, on one thread at a time (PluginInstance).
// - A plugin may break its word: settle late, twice, never, or what it was never given. Each
//   event is still settled exactly once (SettlementTable), and memory that a plugin may still
//   read is not freed before it lets go of it or has stopped (PluginBatch).
// - Never: data of a plugin's used after the call that brought it; a library unloaded.
//
// A plugin that crashes takes this process along: `isolation: none`.

import Delivery
import Events
import Platform
import Telemetry

package struct PluginDestinationOptions: Sendable {
    /// The destination's name in the configuration.
    package var destination: String
    /// Its file is NAME.so or libNAME.so below one of the directories.
    package var plugin: String
    package var directories: [String]
    /// JSON text of an object, secrets filled in.
    package var settings: String
    /// Absolute; what a relative path in the settings is relative to.
    package var directory = "/"
    /// How long a batch may take before its events are offered again.
    package var deadline: Duration
    /// How long a plugin may be busy before the batch goes back to the worker, which retries with
    /// its own backoff and can do other things meanwhile.
    package var busyPatience: Duration = .seconds(1)
    /// The wait between two offers to a busy plugin that does not say `ready`.
    package var busyPause: Duration = .milliseconds(20)
    /// Names the journal that positions count in; empty if there is nothing to name.
    package var journal: String
    /// The least severe level that the log takes.
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

/// Hands events to a sink plugin.
package final class PluginDestination: Destination {
    /// Batches that a plugin may hold past their deadline; with that many, it gets no more.
    static let maximumOverdue = 8

    package private(set) var limits = DestinationLimits()
    package let library: PluginLibrary

    private let options: PluginDestinationOptions
    private let telemetry: Telemetry
    private let clock: any Clock
    private var host: PluginHost?
    private var instance: PluginInstance?
    private var watch: DeadlineWatch?
    private var isConnected = false
    private var heldThrough: UInt64?

    /// Finds, checks and loads the plugin, and holds the settings against its schema; makes no
    /// instance.
    package init(
        _ options: PluginDestinationOptions, telemetry: Telemetry, clock: any Clock = SystemClock()
    ) throws(PluginError) {
        library = try PluginLibrary.load(PluginFile(named: options.plugin, in: options.directories))
        let violations = try library.violations(inSettings: options.settings)
        guard violations.isEmpty else {
            throw PluginError(.settings, violations.map(\.description).joined(separator: "; "))
        }
        var resolved = options
        resolved.settings = try library.resolvingPaths(inSettings: options.settings, from: options.directory)
        self.options = resolved
        self.telemetry = telemetry
        self.clock = clock
    }

    deinit { close() }

    /// What the plugin counted itself. On the worker, like everything here.
    package var metrics: PluginMetrics { host?.metrics ?? PluginMetrics() }

    package func open(from cursor: Cursor) throws -> UInt64? {
        let host = self.host ?? makeHost()
        self.host = host
        let instance = try self.instance ?? PluginInstance(library, host, settings: options.settings)
        self.instance = instance
        limits = DestinationLimits(
            maximumBatchEvents: instance.maximumBatchEvents, maximumBatchBytes: instance.maximumBatchBytes,
            maximumInFlight: instance.maximumInFlight)
        if !isConnected {
            try instance.connect()
            isConnected = true
        }
        let durable = try instance.durablePosition()
        let resume = ResumePoint(cursor: cursor, durable: durable)
        if let before = resume.wentBackFrom {
            telemetry.emit(PluginStoreWentBack(destination: options.destination, before: before, now: durable))
        }
        heldThrough = resume.heldThrough
        if watch == nil { watch = DeadlineWatch(host, clock) }
        return resume.start
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        guard let host, let instance else {
            return claim.settle(.all(.retry(reason: "the plugin is not open")))
        }
        let held = countHeld(batch)
        guard held < batch.events.count else { return claim.settle(.all(.delivered)) }
        guard host.overdue < Self.maximumOverdue else {
            let reason = "the plugin holds \(Self.maximumOverdue) batches past their deadline and gets no more"
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
        try instance.flush()
        return try instance.durablePosition().map(ResumePoint.state)
    }

    /// It may be opened again, with a new instance of the plugin.
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
        PluginHost(
            destination: options.destination, journal: options.journal, telemetry: telemetry, minimum: options.logLevel)
    }

    /// Offers the batch until the plugin takes it, fails, or was busy for too long.
    private func offer(_ batch: PluginBatch, to instance: PluginInstance, _ host: PluginHost) {
        let patience = clock.now() + options.busyPatience
        while true {
            let deadline = clock.now() + options.deadline
            let (token, first) = host.add(batch, deadline: deadline)
            if first { watch?.wake() }
            switch unsafe instance.deliver(batch.offer(token: token, deadline: deadline)) {
            case .taken: return
            case .failed(let reason):
                isConnected = false
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

    /// How many events at the front the plugin holds since before the restart. Positions ascend
    /// within a batch.
    private func countHeld(_ batch: OutboundBatch) -> Int {
        // What comes again is shown again, whatever the plugin holds.
        guard let heldThrough, batch.livePosition == nil else { return 0 }
        return batch.events.firstIndex { $0.position > heldThrough } ?? batch.events.count
    }
}
