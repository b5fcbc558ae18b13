import CPluginChannel
import Events
import Ingest
import Platform
import PluginHosting
import Telemetry

/// A conformance run of a source plugin. Each check has a process of its own. No event is stored, but the plugin is
/// told that its events are stored.
package struct SourceConformance {
    private let path: String
    private let options: PluginSourceOptions
    private let clock: any Clock

    /// - Parameters:
    ///   - path: the plugin's file.
    ///   - settings: the JSON text of an object.
    ///   - deadline: how long each call, and each wait for an offer, may take.
    ///   - program: the plugin host.
    package init(
        of path: String, settings: String, directory: String = "/", deadline: Duration = .seconds(10),
        program: String = PluginHostProgram.path, clock: any Clock = SystemClock()
    ) {
        self.path = path
        self.clock = clock
        var options = PluginSourceOptions(
            name: "conformance", plugin: "", directories: [], settings: settings,
            events: SourceLimits(
                maximumEventSize: 1 << 20, maximumDepth: 64, maximumConnections: 1, maximumUnreadAnswers: 1),
            journal: "conformance-\(clock.wallClock())", logLevel: .debug)
        options.directory = directory
        options.deadline = deadline
        options.hostProgram = program
        self.options = options
    }

    /// - Throws: if the plugin cannot be loaded, or the settings do not match its schema.
    package func validateSettings() throws(PluginError) {
        _ = try schema().checked(options.settings, from: options.directory)
    }

    /// - Parameter report: called after each check.
    /// - Returns: whether no check failed.
    package func run(_ report: (_ check: String, ConformanceChecks.Verdict) -> Void) -> Bool {
        ConformanceChecks([
            ("the entry function gives one table, to hosts of this major version", entry),
            ("create accepts the settings, or says what is wrong with unusual ones", unusualSettings),
            ("create, stop, destroy: without connect", { try stage().finish() }),
            ("connect, stop, destroy: without start", { try connected().finish() }),
            ("start with no positions: offers come, and are reported as stored in order", offers),
            ("start with a position that it does not know: it starts, or says why not", unknownPosition),
            ("a full window: it offers again when there is room", fullWindow),
            ("stop while offers are in flight: none comes after it", stopInFlight),
            ("start at a stored position: the events after it come", resumption),
        ]).run(report)
    }

    private func schema() throws(PluginError) -> PluginSettings {
        try PluginDescription.read(PluginFile(at: path), program: options.hostProgram).settings(as: .source)
    }

    private func stage(settings: String? = nil, window: Int? = nil) throws(PluginError) -> SourceConformanceStage {
        var options = options
        if let settings { options.settings = settings }
        if let window { options.window = window }
        return try SourceConformanceStage(path, options, clock)
    }

    private func connected(window: Int? = nil) throws -> SourceConformanceStage {
        let stage = try stage(window: window)
        try stage.connect()
        return stage
    }

    private func started(_ lanes: [LanePosition] = [], window: Int? = nil) throws -> SourceConformanceStage {
        let stage = try connected(window: window)
        try stage.start(lanes)
        return stage
    }

    // MARK: Checks

    private func entry() throws {
        let stage = try stage()
        try stage.source.probeEntry(within: options.deadline)
        try stage.finish()
    }

    private func unusualSettings() throws {
        try stage().finish()
        let schema = try schema()
        for settings in UnusualSettings.variants(of: options.settings) where try schema.violations(in: settings).isEmpty
        {
            do throws(PluginError) {
                let stage = try stage(settings: settings)
                stage.source.process.close()
            } catch  where error.code == .failed && error.description.contains("cannot create an instance") {
                // It says what is wrong.
                guard !error.description.hasSuffix("gave no reason") else {
                    throw Nonconformance("create failed without a reason, with the settings \(settings.prefix(200))")
                }
            } catch {
                throw Nonconformance("\(error), with the settings \(settings.prefix(200))")
            }
        }
    }

    private func offers() throws {
        let stage = try started()
        try stage.report([stage.firstOffer()])
        // As many as come soon.
        for _ in 0..<100 {
            guard let offer = try stage.offer(within: .milliseconds(200)) else { break }
            try stage.report([offer])
        }
        try stage.finish()
    }

    private func unknownPosition() throws {
        let stage = try connected()
        let odd = (0..<LanePosition.limit).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        do {
            try stage.start([LanePosition(lane: "conformance-unknown", position: odd)])
        } catch {
            guard stage.source.end == nil, !"\(error)".hasSuffix("gave no reason") else {
                throw Nonconformance("\(error)")
            }
        }
        try stage.finish()
    }

    private func fullWindow() throws {
        // Each offer fills it.
        let stage = try started(window: 1)
        let first = try stage.firstOffer()
        guard try stage.offer(within: .milliseconds(300)) == nil else {
            throw Nonconformance("an offer came although the window was full")
        }
        try stage.report([first])
        guard let second = try stage.offer() else {
            // A second offer of a plugin that has more events.
            let roomy = try started()
            _ = try roomy.firstOffer()
            let hasMore = try roomy.offer(within: .milliseconds(500)) != nil
            try roomy.finish()
            throw hasMore
                ? Nonconformance("no offer came after ready") as any Error
                : NotApplicable("the plugin has no more than one offer") as any Error
        }
        try stage.finish([second])
    }

    private func stopInFlight() throws {
        let stage = try started()
        try stage.finish([stage.firstOffer()])
    }

    private func resumption() throws {
        let first = try started()
        let stored = try first.firstOffer()
        var next: ReceivedOffer?
        // Long enough for a busy machine. A plugin without a second offer costs all of this time, so it is not the
        // whole of a long deadline.
        let patience = min(options.deadline, .seconds(5))
        for _ in 0..<100 where next == nil {
            guard let offer = try first.offer(within: patience) else { break }
            if offer.lane.lane == stored.lane.lane, !offer.events.isEmpty { next = offer }
        }
        // As if the process had been killed.
        first.source.process.close()
        guard let next, let expected = next.events.first else {
            throw NotApplicable("the plugin has no second offer with the same name")
        }
        let second = try started([stored.lane])
        var found: ReceivedOffer?
        for _ in 0..<100 where found == nil {
            guard let offer = try second.offer() else { break }
            if offer.lane.lane == stored.lane.lane, !offer.events.isEmpty { found = offer }
        }
        guard let found, let event = found.events.first else {
            throw Nonconformance("no event came after the stored position")
        }
        guard found.bytes[event] == next.bytes[expected] else {
            throw Nonconformance("another event than the one after the stored position came first")
        }
        try second.finish([found])
    }
}
