import CPenstockPlugin
import CPluginChannel
import Events
import Platform
import PluginHosting
import Telemetry

/// The process of a source plugin, and the calls of its functions. Belongs to the source's worker; each call may block
/// up to its limit.
final class SourceProcess {
    let process: PluginProcess
    private let options: PluginSourceOptions
    private let clock: any Clock
    private let build: String?
    private let path: String
    private(set) var plugin: PluginDescription?

    /// Finds and checks the plugin's file, and starts the process. It loads nothing yet.
    convenience init(
        _ options: PluginSourceOptions, _ receiver: SourceReceiver, _ running: RunningPlugin, _ clock: any Clock
    ) throws(PluginError) {
        running.noteFile()
        let file = try PluginFile(named: options.plugin, in: options.directories)
        running.note(file.file.identity)
        try self.init(file, options, receiver, clock)
    }

    /// Starts the process for a plugin's file.
    init(
        _ file: consuming PluginFile, _ options: PluginSourceOptions, _ receiver: SourceReceiver, _ clock: any Clock
    ) throws(PluginError) {
        self.options = options
        self.clock = clock
        build = file.build
        path = file.path
        process = try PluginProcess(
            file.descriptor, program: options.hostProgram, name: options.name, sendTimeout: options.deadline,
            limits: options.limits, receiver: receiver, clock)
    }

    deinit { process.close() }

    /// Why no call can succeed any more: the process has ended. Nil: it lives.
    var end: String? { process.end }

    /// Loads the plugin, checks the settings and creates an instance.
    /// - Parameter loaded: called once the plugin is known.
    func create(
        within limit: Duration, _ loaded: (_ plugin: PluginDescription, _ build: String?) -> Void
    ) throws(PluginError) {
        let plugin = try PluginDescription(loadedBy: process, path, within: limit, clock)
        self.plugin = plugin
        let schema = try plugin.settings(as: .source)
        loaded(plugin, build)
        let settings = try schema.checked(options.settings, from: options.directory)
        let paths = try schema.paths(in: settings).map(\.path)
        let texts = ([options.name, options.journal, settings] + paths).map { Array($0.utf8) + [0] }
        let sizes = texts.map { UInt32(clamping: $0.count) }
        let head = plugin_source_create(
            log_level: Int32(clamping: options.logLevel.rawValue), source_size: sizes[0], journal_size: sizes[1],
            settings_size: sizes[2], paths_size: sizes[3...].reduce(0, +), reserved: 0,
            window: UInt64(clamping: options.window))
        let reply = try process.request(
            PLUGIN_SOURCE_CREATE, PluginProcess.bytes(of: head) + texts.joined(), within: limit, clock)
        switch reply.status {
        case PENSTOCK_OK: break
        case PLUGIN_INCOMPATIBLE:
            throw PluginError(
                .incompatible,
                "the source of \(path) leaves out start, durable, stop or destroy: all four are required")
        default:
            throw PluginError(.failed, "cannot create an instance of the plugin \(plugin.name): \(reply.reason)")
        }
    }

    /// Calls the plugin's entry function again, with other versions.
    func probeEntry(within limit: Duration) throws(PluginError) {
        let reply = try process.request(PLUGIN_PROBE, within: limit, clock)
        guard reply.status == PENSTOCK_OK else { throw PluginError(.incompatible, reply.reason) }
    }

    func connect(within limit: Duration) throws(PluginError) {
        let reply = try process.request(PLUGIN_CONNECT, within: limit, clock)
        guard reply.status == PENSTOCK_OK else {
            throw PluginError(.failed, "the plugin \(name) cannot connect: \(reply.reason)")
        }
    }

    /// - Parameter lanes: every lane that has a stored position.
    func start(_ lanes: [LanePosition], within limit: Duration) throws(PluginError) {
        var body: [UInt8] = []
        for lane in lanes {
            let name = Array(lane.lane.utf8)
            body += PluginProcess.bytes(
                of: plugin_lane(name_length: UInt32(name.count), position_length: UInt32(lane.position.count)))
            body += name
            body += lane.position
        }
        guard body.count <= Int(PLUGIN_CHANNEL_LIMIT) else {
            throw PluginError(
                .failed,
                """
                the source has \(lanes.count) stored positions, more than fit \(PLUGIN_CHANNEL_LIMIT >> 20) MiB: split \
                it into several sources
                """)
        }
        let reply = try process.request(PLUGIN_START, body, within: limit, clock)
        guard reply.status == PENSTOCK_OK else {
            throw PluginError(.failed, "the plugin \(name) cannot start: \(reply.reason)")
        }
    }

    /// Reports offers as stored.
    func report(_ offers: [AppendedOffer], within limit: Duration) throws(PluginError) {
        _ = try process.request(PLUGIN_STORED, StoredOffers.message(offers), within: limit, clock)
    }

    func stop(within limit: Duration) throws(PluginError) {
        _ = try process.request(PLUGIN_STOP, within: limit, clock)
    }

    func destroy(within limit: Duration) throws(PluginError) {
        _ = try process.request(PLUGIN_DESTROY, within: limit, clock)
    }

    private var name: String { plugin?.name ?? options.plugin }
}
