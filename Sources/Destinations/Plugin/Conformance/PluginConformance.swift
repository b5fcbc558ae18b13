import Delivery
import Platform
import PluginHosting
import Telemetry

/// A conformance run: tries on one plugin what a host may do, and finds out whether the plugin keeps the contract of
/// penstock_plugin.h. Each check has a process of its own, so a plugin that crashes fails one check.
package struct PluginConformance {
    package typealias Verdict = ConformanceChecks.Verdict

    /// The most events in a batch, and the most batches in flight, that a run offers.
    private static let batchEvents = 512
    private static let inFlight = 16

    private let path: String
    private let options: PluginDestinationOptions
    private let clock: any Clock

    /// - Parameters:
    ///   - path: the plugin's file.
    ///   - settings: the JSON text of an object. The run delivers its events to where they point.
    ///   - deadline: how long each call, and each batch, may take.
    ///   - program: the plugin host.
    package init(
        of path: String, settings: String, directory: String = "/", deadline: Duration = .seconds(10),
        program: String = PluginHostProgram.path, clock: any Clock = SystemClock()
    ) {
        self.path = path
        // A journal of its own: a plugin that keeps positions has none yet.
        options = {
            var options = PluginDestinationOptions(
                destination: "conformance", plugin: "", directories: [], settings: settings, deadline: deadline,
                journal: "conformance-\(clock.wallClock())", logLevel: .debug)
            options.directory = directory
            options.hostProgram = program
            return options
        }()
        self.clock = clock
    }

    /// - Throws: if the plugin cannot be loaded, or the settings do not match its schema.
    package func validateSettings() throws(PluginError) {
        let description = try PluginDescription.read(PluginFile(at: path), program: options.hostProgram)
        _ = try description.settings(as: .sink).checked(options.settings, from: options.directory)
    }

    /// - Parameter report: called after each check.
    /// - Returns: whether no check failed.
    package func run(_ report: (_ check: String, Verdict) -> Void) -> Bool {
        ConformanceChecks(checks).run(report)
    }

    private var checks: [(String, () throws -> Void)] {
        [
            ("the entry function gives one table, to hosts of this major version", entry),
            ("create accepts the settings, or says what is wrong with unusual ones", unusualSettings),
            ("create, stop, destroy: without connect", { try stage().finish() }),
            ("connect, flush, stop, destroy: without a batch", withoutBatch),
            ("one event is settled once", { try deliver([[0]]) }),
            ("a batch of the largest size is settled once", { try deliver([positions(Self.batchEvents)]) }),
            ("batches follow one another, with flushes between them", batchesInTurn),
            ("as many batches as it takes are in flight at once", inFlight),
            ("events that are offered again are settled again", offeredAgain),
            ("events with the stride of a newer host are read", newerStride),
            ("events with 64 KiB of text are settled", largeEvents),
            ("stop ends a delivery: no settlement comes after it", stopDuringDelivery),
            ("the position is stored with the events, and never moves back", position),
        ]
    }

    private func stage(settings: String? = nil) throws -> ConformanceStage {
        var options = options
        if let settings { options.settings = settings }
        return try ConformanceStage(path, options, clock)
    }

    private func connected() throws -> ConformanceStage {
        let stage = try stage()
        do {
            try stage.instance.connect()
        } catch {
            throw Nonconformance("\(error) (do the settings point to a server that runs?)")
        }
        return stage
    }

    /// Positions 1000, 1001 …, as many as the plugin takes in a batch.
    private func positions(_ count: Int, from first: UInt64 = 1000) -> [UInt64] {
        (0..<UInt64(count)).map { first + $0 }
    }

    private func fit(_ positions: [UInt64], in instance: ProcessInstance) -> [UInt64] {
        // The events below have at most 12 KB.
        Array(positions.prefix(max(1, min(instance.maximumBatchEvents, instance.maximumBatchBytes / 12_000))))
    }

    // MARK: Checks

    private func entry() throws {
        let stage = try stage()
        try stage.instance.probeEntry()
        try stage.finish()
    }

    private func unusualSettings() throws {
        try stage().finish()
        let description = try PluginDescription.read(PluginFile(at: path), program: options.hostProgram)
        for settings in UnusualSettings.variants(of: options.settings)
        where try description.settings(as: .sink).violations(in: settings).isEmpty {
            do throws(PluginError) {
                let stage = try ProcessInstance(
                    PluginFile(at: path), options.with(settings: settings), ConformanceStage.silentHost(options), clock)
                stage.stop()
                stage.destroy()
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

    private func withoutBatch() throws {
        let stage = try connected()
        try stage.instance.flush()
        try stage.stop()
        try stage.finish()
    }

    private func deliver(_ batches: [[UInt64]]) throws {
        let stage = try connected()
        for batch in batches { try stage.settle(stage.offer(fit(batch, in: stage.instance))) }
        try stage.instance.flush()
        // A second settlement would come soon after the first.
        stage.pause(.milliseconds(100))
        try stage.finish()
    }

    private func batchesInTurn() throws {
        let stage = try connected()
        for number in 0..<10 {
            try stage.settle(stage.offer(fit(positions(20, from: 2000 + UInt64(number) * 20), in: stage.instance)))
            try stage.instance.flush()
        }
        try stage.finish()
    }

    private func inFlight() throws {
        let stage = try connected()
        let count = min(stage.instance.maximumInFlight, Self.inFlight)
        let offers = try (0..<count).map { number in
            try stage.offer(fit(positions(20, from: 3000 + UInt64(number) * 20), in: stage.instance))
        }
        for offer in offers { try stage.settle(offer) }
        stage.pause(.milliseconds(100))
        try stage.finish()
    }

    private func offeredAgain() throws {
        let stage = try connected()
        for attempt in 0..<3 {
            try stage.settle(stage.offer(fit(positions(20, from: 4000), in: stage.instance), attempt: UInt32(attempt)))
        }
        try stage.finish()
    }

    private func newerStride() throws {
        let stage = try connected()
        stage.instance.eventStride += 40
        let offer = try stage.offer(fit(positions(20, from: 5000), in: stage.instance))
        try stage.settle(offer)
        stage.instance.eventStride -= 40
        let usual = try stage.offer(fit(positions(20, from: 5000), in: stage.instance), attempt: 1)
        try stage.settle(usual)
        guard offer.outcomes == usual.outcomes else {
            throw Nonconformance(
                "the outcomes differ from those of the same events with the usual stride: use penstock_batch_event")
        }
        try stage.finish()
    }

    private func largeEvents() throws {
        let stage = try connected()
        guard stage.instance.maximumBatchBytes >= 1 << 17 else {
            throw NotApplicable("it takes at most \(Readable.size(UInt64(stage.instance.maximumBatchBytes)))")
        }
        try stage.settle(stage.offer([6000], padding: 1 << 16))
        try stage.finish()
    }

    private func stopDuringDelivery() throws {
        let stage = try connected()
        let count = min(stage.instance.maximumInFlight, Self.inFlight)
        let offers = try (0..<count).map { number in
            try stage.offer(fit(positions(20, from: 7000 + UInt64(number) * 20), in: stage.instance))
        }
        try stage.stop()
        let settled = offers.filter(\.isSettled).count
        stage.pause(.milliseconds(200))
        guard offers.filter(\.isSettled).count == settled else {
            throw Nonconformance("a batch was settled after stop had returned")
        }
        try stage.finish()
    }

    private func position() throws {
        let first = try connected()
        guard first.instance.keepsPosition else { throw NotApplicable("the plugin keeps no position") }
        let before = try first.instance.durablePosition()
        let start = max(before ?? 0, 10_000) + 1
        let offer = try first.offer(fit(positions(20, from: start), in: first.instance))
        try first.settle(offer)
        let position = try first.instance.durablePosition()
        // Up to the first event that it did not store.
        let stored = offer.outcomes.prefix { $0 == .delivered }.count
        let expected = stored == 0 ? before : offer.positions[stored - 1]
        guard let position, position >= before ?? 0, expected.map({ position <= $0 }) ?? false else {
            throw Nonconformance(
                "after events up to \(offer.positions.last ?? 0), of which the first \(stored) were delivered, the "
                    + "position is \(position.map(String.init) ?? "missing")")
        }
        try first.finish()
        let second = try connected()
        guard try second.instance.durablePosition() == position else {
            throw Nonconformance("another process reads another position than \(position)")
        }
        try second.settle(second.offer(fit(positions(5, from: 20), in: second.instance), isReplay: true))
        guard try second.instance.durablePosition() ?? 0 >= position else {
            throw Nonconformance("a replay of earlier events moved the position back from \(position)")
        }
        try second.finish()
    }
}

extension PluginDestinationOptions {
    fileprivate func with(settings: String) -> PluginDestinationOptions {
        var copy = self
        copy.settings = settings
        return copy
    }
}

extension ConformanceStage {
    /// A host for an instance that gets no batch.
    static func silentHost(_ options: PluginDestinationOptions) -> PluginHost {
        PluginHost(
            destination: options.destination, journal: options.journal,
            telemetry: Telemetry(sink: NoLines(), now: { 0 }), minimum: .error, passesOutput: false)
    }

    private struct NoLines: LogSink {
        func write(_ level: Level, _ line: String) {}
    }
}
