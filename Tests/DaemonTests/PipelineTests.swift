import Delivery
import Events
import Journal
import Platform
import Synchronization
import Testing

@testable import Daemon

@Suite struct PipelineTests {
    /// The destination's thread looks for events before the pipeline can ring it. An event that is committed in between
    /// must not wait for the next commit.
    @Test(.timeLimit(.minutes(2)))
    func `an event that is committed while a destination starts is delivered`() throws {
        let rig = try DestinationRig()
        let pipeline = rig.pipeline
        let commits = Atomic(0)
        rig.journal.start(onDurable: { _ in
            pipeline.journalCommitted()
            commits.add(1, ordering: .releasing)
        })
        let destination = GatedDestination()
        destination.gate.ring()
        var isReady = false
        pipeline.start("archive") {
            let running = rig.running(destination)
            destination.isIn.wait()
            isReady = rig.eventually { running.turnBegan == nil }
            let json = Array(#"{"type":"track","event":"A","userId":"u"}"#.utf8)
            let event = ScannedEvent(offset: 0, length: UInt32(json.count), index: EventIndex(kind: .track))
            let outcome = rig.journal.append(
                json.span, events: [event].span, from: Origin(source: "apps", uid: 0, gid: 0, pid: 1))
            isReady = isReady && outcome == .queued(end: 1)
            isReady = isReady && rig.eventually { commits.load(ordering: .acquiring) > 0 }
            return running
        }
        #expect(isReady)
        #expect(rig.eventually { pipeline.destinations.first?.worker.status.positionSettled == 1 })
        pipeline.stopAll(by: rig.clock.now() + .seconds(60))
    }
}
