import Delivery
import Events
import Foundation
import Journal
import Platform
import Seams
import Telemetry
import Testing

@testable import Daemon

@Suite struct HangingDestinationTests {
    @Test(.timeLimit(.minutes(2)))
    func oneThatDoesNotComeBackIsLeftBehindAndItsSuccessorWaitsForItsEnd() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/penstock-hanging-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let clock = SystemClock()
        let telemetry = Telemetry(sink: SilentLog(), now: { clock.now().nanoseconds })
        var options = JournalOptions()
        options.segmentSize = 1 << 20
        options.queueBytes = 256 << 10
        let journal = try Journal.open(
            directory: directory, options: options, disk: SystemDisk(), clock: clock, telemetry: telemetry)
        try journal.declare(destinations: [(name: "archive", start: 0)])
        journal.start(onDurable: { _ in }, onSpace: {})
        defer { journal.stop() }
        let letters = DeadLetterFile(try journal.deadLetters(of: "archive", limit: 1 << 20), journal: journal.uuid.bytes)
        func running(_ destination: GatedDestination) -> RunningDestination {
            let bell = Doorbell()
            let worker = DeliveryWorker(
                .init(
                    name: "archive", policy: DeliveryPolicy(), log: JournalLog(journal: journal),
                    cursors: JournalCursors(journal: journal, owner: "file"), clock: clock, telemetry: telemetry),
                router: NoRouter(), destination: destination, deadLetters: letters, random: SystemRandomNumberGenerator(),
                wake: { bell.ring() })
            return .start(worker, deadLetters: letters, bell: bell, clock: clock)
        }
        let (hanging, next) = (GatedDestination(), GatedDestination())
        next.gate.ring()
        let pipeline = Pipeline(clock: clock)
        pipeline.start("archive") { running(hanging) }
        hanging.isIn.wait()
        #expect(pipeline.destinations.first?.turnBegan != nil)

        #expect(pipeline.stop(["archive"], by: clock.now()) == ["archive"])
        pipeline.start("archive") { running(next) }
        pipeline.goOn()
        #expect(pipeline.names.isEmpty)
        #expect(pipeline.awaited.map(\.worker.name) == ["archive"])
        #expect(!next.isIn.wait(until: clock.now()))

        hanging.gate.ring()
        let deadline = clock.now() + .seconds(60)
        let pause = Doorbell()
        while pipeline.names.isEmpty, clock.now() < deadline {
            pipeline.goOn()
            pause.wait(until: clock.now() + .milliseconds(5))
        }
        #expect(pipeline.names == ["archive"])
        #expect(pipeline.awaited.isEmpty)
        #expect(next.isIn.wait(until: clock.now() + .seconds(60)))
        #expect(pipeline.stop(["archive"], by: clock.now() + .seconds(60)) == [])
    }
}

/// Its opening takes until somebody opens the gate.
private final class GatedDestination: Destination {
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
    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> Delivery.RouteVerdict {
        .filtered(reason: "nothing is routed here")
    }
}

private struct SilentLog: LogSink {
    func write(_ level: Level, _ line: String) {}
}
