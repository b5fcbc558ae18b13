import Delivery
import Journal
import Platform
import Testing

@testable import Daemon

@Suite struct HangingDestinationTests {
    @Test(.timeLimit(.minutes(2)), arguments: [false, true])
    func `a destination that hangs is abandoned, and its successor waits for its end`(isInPool: Bool) throws {
        let rig = try DestinationRig()
        let pool = isInPool ? RoutingPool(threads: 2) : nil
        pool?.start()
        defer { _ = pool?.stop(by: rig.clock.now() + .seconds(60)) }
        rig.journal.start()
        let (clock, pipeline) = (rig.clock, rig.pipeline)
        let (hanging, next) = (GatedDestination(), GatedDestination())
        next.gate.ring()
        pipeline.start("archive") { rig.running(hanging, in: pool) }
        hanging.isIn.wait()
        #expect(pipeline.destinations.first?.turnBegan != nil)

        #expect(pipeline.stop(["archive"], by: clock.now()) == ["archive"])
        pipeline.start("archive") { rig.running(next, in: pool) }
        pipeline.startSuccessors()
        #expect(pipeline.names.isEmpty)
        #expect(pipeline.awaited.map(\.worker.name) == ["archive"])
        #expect(!next.isIn.wait(until: clock.now()))

        hanging.gate.ring()
        let deadline = clock.now() + .seconds(60)
        let pause = Doorbell()
        while pipeline.names.isEmpty, clock.now() < deadline {
            pipeline.startSuccessors()
            pause.wait(until: clock.now() + .milliseconds(5))
        }
        #expect(pipeline.names == ["archive"])
        #expect(pipeline.awaited.isEmpty)
        #expect(next.isIn.wait(until: clock.now() + .seconds(60)))
        #expect(pipeline.stop(["archive"], by: clock.now() + .seconds(60)) == [])
    }
}
