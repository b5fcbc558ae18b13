import CPenstockPlugin
import CPluginChannel
import Events
import Platform
import PluginHosting
import Telemetry

/// One process of a source plugin under test. Use by one thread.
final class SourceConformanceStage {
    let source: SourceProcess
    private let receiver: SourceReceiver
    private let bell = Doorbell()
    private let deadline: Duration
    private let clock: any Clock

    private struct NoLines: LogSink {
        func write(_ level: Level, _ line: String) {}
    }

    /// Starts a process, loads the plugin and calls `create`.
    init(_ path: String, _ options: PluginSourceOptions, _ clock: any Clock) throws(PluginError) {
        self.clock = clock
        deadline = options.deadline
        let reporting = PluginReporting(
            owner: options.name, as: .source, telemetry: Telemetry(sink: NoLines(), now: { 0 }), minimum: .error,
            passesOutput: false)
        receiver = SourceReceiver(
            reporting, window: UInt64(clamping: options.window), offerBytes: options.offerBytes,
            board: SourceBoard(readyLag: options.readyLag), bell: bell)
        source = try SourceProcess(PluginFile(at: path), options, receiver, clock)
        try source.create(within: deadline) { _, _ in }
    }

    func connect() throws {
        do {
            try source.connect(within: deadline)
        } catch {
            throw Nonconformance("\(error) (do the settings point to a server that runs?)")
        }
    }

    func start(_ lanes: [LanePosition] = []) throws {
        receiver.permitOffers(true)
        try source.start(lanes, within: deadline)
    }

    /// Waits for the next offer.
    /// - Parameter time: nil: the deadline of calls.
    /// - Returns: nil: none came in time.
    func offer(within time: Duration? = nil) throws -> ReceivedOffer? {
        let end = clock.now() + (time ?? deadline)
        while true {
            if let offer = receiver.takeOffer() { return offer }
            try checkAlive("start")
            guard clock.now() < end else { return nil }
            bell.wait(until: end)
        }
    }

    /// - Throws: `NotApplicable` if the plugin has nothing to offer.
    func firstOffer() throws -> ReceivedOffer {
        guard let offer = try offer() else {
            throw NotApplicable(
                "the plugin offered no event within \(Readable.duration(deadline)): let the settings point to a source "
                    + "that has events")
        }
        return offer
    }

    /// Reports offers as stored, in order.
    func report(_ offers: [ReceivedOffer]) throws {
        receiver.release(offers.reduce(0) { $0 + $1.cost })
        try source.report(
            offers.map { AppendedOffer(token: $0.token, cost: $0.cost, lane: $0.lane, refusals: [], end: 0) },
            within: deadline)
    }

    /// Stops the plugin, waits for what must not come, and reports what was offered before.
    func finish(_ unreported: [ReceivedOffer] = []) throws {
        do {
            try source.stop(within: deadline)
        } catch {
            throw Nonconformance("stop: \(error)")
        }
        receiver.permitOffers(false)
        var offers = unreported
        while let offer = receiver.takeOffer() { offers.append(offer) }
        bell.wait(until: clock.now() + .milliseconds(200))
        try checkAlive("stop")
        if !offers.isEmpty { try report(offers) }
        do {
            try source.destroy(within: deadline)
        } catch {
            throw Nonconformance("destroy: \(error)")
        }
        source.process.close()
    }

    private func checkAlive(_ function: String) throws {
        if let reason = source.end { throw Nonconformance("after \(function): \(reason)") }
        if let reason = receiver.failure { throw Nonconformance("the plugin gave up: \(reason)") }
    }
}
