import Assembly
import DaemonConfiguration
import Delivery
import Destinations
import Events
import Journal
import JournalAdapters
import Platform
import PluginHosting
import Routing
import Telemetry

/// Builds a destination from its configuration in two steps: `prepare` does everything that can fail; `start` cannot
/// fail and runs once the whole configuration is prepared.
struct DestinationBuilder {
    /// A destination that can be started.
    struct Prepared {
        var destination: any Destination
        var deadLetters: DeadLetterFile
        /// Whether its turns run in the routing pool, because they never block. Otherwise it gets its own thread.
        var runsInPool: Bool
        /// nil: it is no plugin.
        var plugin: RunningPlugin?
        /// nil: it changes no events to fit limits.
        var mended: MendedEvents?
    }

    let journal: Journal
    let engine: HTTPEngine
    let pool: RoutingPool
    let clock: any Clock
    let telemetry: Telemetry
    let tap: LiveTap
    private let openDeadLetters = OpenDeadLetterFiles()

    init(
        journal: Journal, engine: HTTPEngine, pool: RoutingPool, clock: any Clock, telemetry: Telemetry, tap: LiveTap
    ) {
        self.tap = tap
        self.journal = journal
        self.engine = engine
        self.pool = pool
        self.clock = clock
        self.telemetry = telemetry
    }

    /// Checks URLs and paths, and opens the dead letters. Does not affect running destinations.
    func prepare(_ destination: Configuration.Destination, in configuration: Configuration) throws -> Prepared {
        let deadLetters = try openDeadLetters.file(of: destination.name) {
            let file = DeadLetterFile(
                try journal.deadLetters(of: destination.name, limit: destination.deadLetters.size),
                journal: journal.uuid.bytes)
            // A retry that a stop or a crash interrupted continues by itself. A file that is already in use has resumed
            // its retry before.
            try file.resumeRetry { try DeadLetterRequest.matches(chosen: $0.chosen, condition: $0.condition) }
            return file
        }
        return switch destination.kind {
        case .file(let file):
            Prepared(
                destination: try make(file, destination, in: configuration), deadLetters: deadLetters, runsInPool: false
            )
        case .http(let http):
            prepare(
                try HTTPDestination(
                    HTTPOptions(http, inFlight: destination.inFlight, of: destination.name), engine: engine,
                    clock: clock),
                deadLetters)
        case .plugin(let plugin):
            prepare(make(plugin, destination.name, configuration.plugins.directories), deadLetters)
        }
    }

    private func prepare(_ http: HTTPDestination, _ deadLetters: DeadLetterFile) -> Prepared {
        Prepared(destination: http, deadLetters: deadLetters, runsInPool: true, mended: http.mended)
    }

    private func prepare(_ plugin: PluginDestination, _ deadLetters: DeadLetterFile) -> Prepared {
        Prepared(destination: plugin, deadLetters: deadLetters, runsInPool: false, plugin: plugin.running)
    }

    private func make(
        _ plugin: Configuration.Plugin, _ name: String, _ directories: [String]
    ) -> PluginDestination {
        var options = PluginDestinationOptions(
            destination: name, plugin: plugin.plugin, directories: directories, settings: plugin.settings,
            deadline: plugin.deadline, journal: "\(journal.uuid)")
        options.directory = plugin.directory
        options.isolation = plugin.isolation == .process ? .process : .none
        options.limits.memory = plugin.limits.memory
        options.limits.processors = plugin.limits.processors
        options.limits.openFiles = plugin.limits.openFiles
        return PluginDestination(
            options, telemetry: telemetry, clock: clock, bound: JournalBound(journal: journal, destination: name))
    }

    private func make(
        _ file: Configuration.File, _ destination: Configuration.Destination, in configuration: Configuration
    ) throws -> FileDestination {
        let name = destination.name
        let cursors = JournalCursors(journal: journal, owner: destination.kind.owner)
        return try FileDestination(
            name: name, options: FileDestinationOptions(file),
            ledger: "\(configuration.journal.directory)/files/\(name)",
            disk: SystemDisk(), clock: clock, telemetry: telemetry,
            syncer: FileSyncer(name: name), bound: JournalBound(journal: journal, destination: name),
            commit: { cursor in
                cursors.advance(name, to: cursor)
                try cursors.commit()
            })
    }

    /// Starts a prepared destination at its cursor.
    /// - Precondition: the destination is declared in the journal (`Journal.declare`).
    func start(
        _ prepared: Prepared, _ destination: Configuration.Destination, in configuration: Configuration
    ) -> RunningDestination {
        // At the daemon's start it was recorded before the first new event (`Daemon.start`). Otherwise it is recorded
        // here, because an old version of the destination has delivered until now.
        if destination.kind.keepsEvents { journal.setUnverified([destination.name], since: journal.durableEnd) }
        let deadLetters = prepared.deadLetters
        deadLetters.store.setLimits(.init(destination.deadLetters))
        let interruption = Interruption()
        let router = DestinationRouter(
            destination, in: configuration, host: HostName.current, journal: journal.uuid.bytes,
            userNames: UserNameCache.shared.lookUp, interruption: interruption)
        var setting = DeliveryWorker.Setting(
            name: destination.name,
            policy: DeliveryPolicy(destination, cursorInterval: destination.cursorInterval(in: configuration)),
            log: JournalLog(journal: journal), cursors: JournalCursors(journal: journal, owner: destination.kind.owner),
            clock: clock,
            telemetry: telemetry)
        setting.interruption = interruption
        setting.latencies = Histogram(bounds: .ofDelivery)
        let tap = TapPoint(tap, destination: destination.name, secrets: destination.secretsOfOutput)
        setting.tap = tap
        let journal = self.journal.uuid.bytes
        setting.backfillRouter = { replay, interruption in
            let marksUsers = destination.order == .user
            func router(marksReplay: Bool) -> DestinationRouter {
                DestinationRouter(
                    destination, in: configuration, host: HostName.current, journal: journal,
                    userNames: UserNameCache.shared.lookUp, marksReplay: marksReplay, interruption: interruption)
            }
            guard let replay else { return RoutedEvents(router(marksReplay: false), marksUsers: marksUsers) }
            return try ReplayedEvents(
                replay, RoutedEvents(router(marksReplay: true), marksUsers: marksUsers), host: HostName.current,
                userNames: UserNameCache.shared.lookUp)
        }
        func worker(wake: @escaping @Sendable () -> Void) -> DeliveryWorker {
            DeliveryWorker(
                setting, router: RoutedEvents(router, marksUsers: destination.order == .user),
                destination: prepared.destination, deadLetters: TappedDeadLetters(deadLetters, tap),
                random: SystemRandomNumberGenerator(), wake: wake)
        }
        if prepared.runsInPool {
            let place = pool.register()
            return .start(
                worker { place.wake() }, deadLetters: deadLetters, mended: prepared.mended, place: place,
                callsScripts: router.mayTakeLong)
        } else {
            let bell = Doorbell()
            return .start(
                worker { bell.ring() }, deadLetters: deadLetters, plugin: prepared.plugin, bell: bell,
                clock: clock)
        }
    }
}

extension Configuration.Destination.Kind {
    /// Whether it keeps events and a position outside the journal, and so compares them with the journal
    /// (`PositionBound`). Which plugins do so is known only after they are loaded.
    var keepsEvents: Bool {
        switch self {
        case .file, .plugin: true
        case .http: false
        }
    }
}
