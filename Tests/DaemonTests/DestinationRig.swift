import Delivery
import Events
import Foundation
import Journal
import JournalAdapters
import Platform
import Telemetry

@testable import Daemon

/// A journal in its own directory, and destinations on it that are neither files, services nor plugins.
final class DestinationRig {
    let clock = SystemClock()
    let journal: Journal
    let pipeline: Pipeline
    private let directory = FileManager.default.temporaryDirectory.path + "/penstock-pipeline-" + UUID().uuidString
    private let letters: DeadLetterFile
    private let telemetry: Telemetry

    init() throws {
        let clock = clock
        telemetry = Telemetry(sink: SilentLog(), now: { clock.now().nanoseconds })
        var options = JournalOptions()
        options.segmentSize = 1 << 20
        options.queueBytes = 256 << 10
        options.memoryBytes = 1 << 20
        journal = try Journal.open(
            directory: directory, options: options, disk: SystemDisk(), clock: clock, telemetry: telemetry)
        try journal.declare(destinations: [(name: "archive", start: 0)])
        letters = DeadLetterFile(try journal.deadLetters(of: "archive", limit: 1 << 20), journal: journal.uuid.bytes)
        pipeline = Pipeline(clock: clock)
    }

    deinit {
        journal.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A running destination `archive` whose events are all filtered out.
    /// - Parameter pool: runs the destination; nil: the destination gets its own thread.
    func running(_ destination: any Destination, in pool: RoutingPool? = nil) -> RunningDestination {
        if let pool {
            let place = pool.register()
            return .start(
                worker(destination, wake: place.wake), deadLetters: letters, place: place, callsScripts: false)
        }
        let bell = Doorbell()
        return .start(worker(destination) { bell.ring() }, deadLetters: letters, bell: bell, clock: clock)
    }

    private func worker(_ destination: any Destination, wake: @escaping @Sendable () -> Void) -> DeliveryWorker {
        DeliveryWorker(
            .init(
                name: "archive", policy: DeliveryPolicy(), log: JournalLog(journal: journal),
                cursors: JournalCursors(journal: journal, owner: "file"), clock: clock, telemetry: telemetry),
            router: NoRouter(), destination: destination, deadLetters: letters, random: SystemRandomNumberGenerator(),
            wake: wake)
    }

    /// Polls the condition.
    /// - Returns: whether the condition became true within a minute.
    func eventually(_ condition: () -> Bool) -> Bool {
        let deadline = clock.now() + .seconds(60)
        let pause = Doorbell()
        while !condition() {
            guard clock.now() < deadline else { return false }
            pause.wait(until: clock.now() + .milliseconds(2))
        }
        return true
    }
}

/// A destination whose opening waits until the test opens the gate.
final class GatedDestination: Destination {
    let isIn = Doorbell()
    let gate = Doorbell()
    var limits: DestinationLimits { DestinationLimits() }

    func open(from cursor: Cursor) throws -> UInt64? {
        isIn.ring()
        gate.wait()
        return nil
    }

    func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) { claim.settle(.all(.delivered)) }
    func checkpoint() throws -> [UInt8]? { nil }
    func close() {}
}

private final class NoRouter: EventRouter {
    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch)
        -> Delivery.RouteVerdict
    {
        .filtered(reason: "nothing is routed here")
    }
}

private struct SilentLog: LogSink {
    func write(_ level: Level, _ line: String) {}
}
