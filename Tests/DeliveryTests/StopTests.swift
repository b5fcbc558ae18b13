import Glibc
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("A worker that is asked to stop")
struct StopTests {
    @Test func `a stopping worker waits for batches in flight, offers nothing more, and saves its cursor`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, inFlight: 2))
        bench.destination.answer = nil
        bench.log.append(10)
        bench.turn()
        let deadline = bench.clock.now() + .seconds(10)
        bench.worker.requestStop(by: deadline)
        #expect(bench.turn() == deadline)
        #expect(!bench.worker.isStopped)
        bench.destination.settleFirst(.all(.delivered))
        bench.destination.settleFirst(.all(.delivered))
        #expect(bench.turn() == nil)
        #expect(bench.worker.isStopped)
        #expect(bench.destination.positions == [[0, 1], [2, 3]])
        #expect(bench.destination.closed == 1)
        #expect(bench.cursors.position == 4)
        #expect(bench.worker.status.state == .stopped)
        #expect(bench.turn() == nil)
    }

    @Test func `a stopping worker waits no longer than its deadline and keeps the cursor below unsettled events`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, inFlight: 2))
        bench.destination.answer = nil
        bench.log.append(4)
        bench.turn()
        bench.destination.settleFirst(.all(.delivered))
        bench.worker.requestStop(by: bench.clock.now() + .seconds(1))
        bench.turn()
        bench.clock.advance(.seconds(1))
        bench.turn()
        #expect(bench.worker.isStopped)
        #expect(bench.cursors.position == 2)
    }

    @Test func `a worker stops at once when its destination cannot be opened`() {
        let bench = Bench()
        bench.destination.openError = Broken()
        bench.turn()
        bench.worker.requestStop(by: bench.clock.now() + .seconds(60))
        bench.turn()
        #expect(bench.worker.isStopped)
        #expect(bench.destination.closed == 0)
    }

    @Test func `a stopping worker does not wait for retries`() {
        let bench = Bench()
        bench.destination.answer = { _ in .all(.retry(reason: "down")) }
        bench.log.append(2)
        bench.turn()
        bench.worker.requestStop(by: bench.clock.now() + .seconds(60))
        bench.turn()
        #expect(bench.worker.isStopped)
        #expect(bench.cursors.position == 0)
    }
}

@Suite("A worker's runner")
struct WorkerRunnerTests {
    @Test(.timeLimit(.minutes(5)))
    func `a runner delivers when it is rung, beats while it works, and ends when asked`() {
        let bell = Doorbell()
        let clock = SystemClock()
        let log = FakeLog()
        let cursors = FakeCursors()
        let destination = CountingDestination()
        let worker = DeliveryWorker(
            .init(
                name: "archive", policy: DeliveryPolicy(batchEvents: 10), log: log, cursors: cursors, clock: clock,
                telemetry: Bench().telemetry),
            router: FakeRouter(), destination: destination, deadLetters: FakeSink(), random: SeededRandom(),
            wake: { bell.ring() })
        let runner = WorkerRunner(worker, bell: bell, clock: clock)
        for round in 1...50 as ClosedRange<UInt64> {
            log.append(7)
            runner.ring()
            let deadline = clock.now() + .seconds(20)
            while worker.status.delivered < round * 7, clock.now() < deadline { usleep(100) }
            #expect(worker.status.delivered == round * 7)
        }
        #expect(runner.stop(by: clock.now() + .seconds(10)))
        #expect(worker.isStopped)
        #expect(runner.turnBegan == nil)
        #expect(cursors.position == 350)
        #expect(destination.count.load(ordering: .relaxed) == 350)
    }

    @Test(.timeLimit(.minutes(5)))
    func `a runner abandons a thread that hangs, and joins it when it returns`() {
        let bell = Doorbell()
        let clock = SystemClock()
        let log = FakeLog()
        let cursors = FakeCursors()
        let destination = HangingDestination()
        let worker = DeliveryWorker(
            .init(
                name: "archive", policy: DeliveryPolicy(), log: log, cursors: cursors, clock: clock,
                telemetry: Bench().telemetry),
            router: FakeRouter(), destination: destination, deadLetters: FakeSink(), random: SeededRandom(),
            wake: { bell.ring() })
        let runner = WorkerRunner(worker, bell: bell, clock: clock)
        log.append(1)
        runner.ring()
        destination.isIn.wait()
        #expect(runner.turnBegan != nil)
        #expect(!runner.stop(by: clock.now()))
        #expect(!runner.hasEnded && !runner.reap() && !worker.isStopped)
        destination.release.ring()
        let deadline = clock.now() + .seconds(20)
        while !runner.hasEnded, clock.now() < deadline { usleep(100) }
        #expect(runner.reap())
        #expect(worker.isStopped && runner.turnBegan == nil)
        #expect(cursors.position == 1)
    }

    private final class HangingDestination: Destination {
        let isIn = Doorbell()
        let release = Doorbell()
        var limits: DestinationLimits { DestinationLimits() }
        func open(from cursor: Cursor) throws -> UInt64? { nil }
        func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
            isIn.ring()
            release.wait()
            claim.settle(.all(.delivered))
        }
        func checkpoint() throws -> [UInt8]? { nil }
        func close() {}
    }

    private final class CountingDestination: Destination {
        let count = Atomic(0)
        var limits: DestinationLimits { DestinationLimits() }
        func open(from cursor: Cursor) throws -> UInt64? { nil }
        func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
            count.wrappingAdd(batch.events.count, ordering: .relaxed)
            claim.settle(.all(.delivered))
        }
        func checkpoint() throws -> [UInt8]? { nil }
        func close() {}
    }
}
