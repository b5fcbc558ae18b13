import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("A delivery worker")
struct DeliveryWorkerTests {
    @Test func `a worker delivers the journal's events in order, once`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 4))
        bench.log.append(10)
        bench.run(for: .seconds(5))
        #expect(bench.destination.positions == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        #expect(bench.cursors.position == 10)
        #expect(bench.worker.status.delivered == 10)
        #expect(bench.worker.status.positionDelivered == 10)
        #expect(bench.worker.status.oldestUnsettled == nil)
        #expect(bench.worker.status.state == .up)
    }

    @Test(arguments: [nil, 3, 8] as [UInt64?])
    func `a worker starts at the cursor unless the destination names a position`(own: UInt64?) {
        let bench = Bench(cursor: 5)
        bench.destination.startAt = own
        bench.log.append(10)
        bench.turn()
        #expect(bench.destination.positions == [Array((own ?? 5)..<10)])
    }

    @Test func `a worker that waits holds nothing of the journal's memory`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 4, inFlight: 2))
        bench.destination.answer = nil
        bench.log.append(100)
        bench.turn()
        #expect(bench.destination.positions == [[0, 1, 2, 3], [4, 5, 6, 7]])
        #expect(bench.log.loans.load(ordering: .relaxed) == 0, "most events of the read are not routed yet")
        bench.destination.answer = { _ in .all(.delivered) }
        for _ in 0..<2 { bench.destination.settleFirst(.all(.delivered)) }
        bench.run(for: .seconds(5))
        #expect(bench.destination.positions.flatMap { $0 } == Array(0..<100))
        #expect(bench.log.loans.load(ordering: .relaxed) == 0)
    }

    @Test func `a worker with nothing to do asks for no turn`() {
        let bench = Bench()
        #expect(bench.turn() == nil)
        bench.log.append(1)
        bench.run(for: .seconds(2))
        #expect(bench.turn() == nil)
    }

    @Test func `a worker moves the cursor only after a checkpoint, at the checkpoint interval`() {
        let bench = Bench(DeliveryPolicy(checkpointInterval: .seconds(3)))
        bench.destination.state = [1, 2]
        bench.log.append(5)
        #expect(bench.turn() == bench.clock.now() + .seconds(3))
        #expect(bench.destination.offers.count == 1)
        #expect(bench.cursors.position == 0)
        bench.clock.advance(.seconds(3))
        #expect(bench.turn() == nil)
        #expect(bench.cursors.cursor(of: "shop") == Cursor(position: 5, state: [1, 2]))
        #expect(bench.destination.checkpoints == 1)
    }

    @Test func `a worker asks again for a cursor that is not durable yet, and waits for it only when it stops`() {
        let bench = Bench(DeliveryPolicy(checkpointInterval: .seconds(3)))
        bench.destination.isLate = true
        bench.log.append(5)
        bench.turn()
        bench.clock.advance(.seconds(3))
        #expect(bench.turn() == bench.clock.now() + .seconds(3))
        #expect(bench.cursors.position == 0)
        bench.log.append(2)
        bench.turn()
        bench.clock.advance(.seconds(3))
        #expect(bench.turn() == bench.clock.now() + .seconds(3))
        #expect(bench.cursors.position == 5)
        bench.clock.advance(.seconds(3))
        #expect(bench.turn() == nil)
        #expect(bench.cursors.position == 7)
        bench.log.append(1)
        bench.turn()
        bench.worker.requestStop(by: bench.clock.now() + .seconds(1))
        bench.turn()
        #expect(bench.worker.isStopped)
        #expect(bench.cursors.position == 8)
    }

    @Test func `a worker reopens a destination at the cursor when a checkpoint fails`() {
        let bench = Bench()
        bench.log.append(5)
        bench.turn()
        bench.destination.checkpointError = Broken("fdatasync: input/output error")
        bench.clock.advance(.seconds(1))
        bench.turn()
        #expect(bench.cursors.position == 0)
        #expect(bench.destination.closed == 1)
        #expect(bench.worker.status.state == .failing)
        #expect(bench.worker.status.lastError?.message.contains("fdatasync") == true)
        bench.destination.checkpointError = nil
        bench.run(for: .seconds(10))
        #expect(bench.destination.opened.map(\.position) == [0, 0])
        #expect(bench.destination.positions == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
        #expect(bench.cursors.position == 5)
        #expect(bench.worker.status.state == .up)
    }

    @Test func `a worker reopens a destination at the cursor when it has failed`() {
        let bench = Bench()
        bench.log.append(5)
        bench.turn()
        bench.destination.failure = "its process was ended by SIGSEGV"
        bench.turn()
        #expect(bench.destination.closed == 1)
        #expect(bench.worker.status.state == .failing)
        #expect(bench.worker.status.lastError?.message.contains("SIGSEGV") == true)
        bench.run(for: .seconds(10))
        // What was delivered, and not covered by a checkpoint, may be lost: it is delivered again.
        #expect(bench.destination.opened.map(\.position) == [0, 0])
        #expect(bench.destination.positions == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]])
        #expect(bench.cursors.position == 5)
        #expect(bench.worker.status.state == .up)
    }

    @Test func `a worker backs off from a destination that opens and then fails at each checkpoint`() {
        let bench = Bench(DeliveryPolicy(retryInitial: .seconds(1), retryMaximum: .seconds(100)))
        bench.destination.checkpointError = Broken()
        bench.log.append(1)
        bench.run(for: .seconds(2000))
        // After the first few, one open every 100 s at most, with full jitter.
        #expect((20..<200).contains(bench.destination.opened.count))
        bench.destination.checkpointError = nil
        bench.run(for: .seconds(200))
        #expect(bench.cursors.position == 1)
    }

    @Test func `a worker retries opening a destination, with backoff`() {
        let bench = Bench(DeliveryPolicy(retryInitial: .seconds(1), retryMaximum: .seconds(8)))
        bench.destination.openError = Broken("no such directory")
        bench.log.append(1)
        let next = bench.turn()
        #expect(next.map { $0 >= bench.clock.now() + .seconds(1) } == true)
        #expect(bench.worker.status.state == .failing)
        #expect(bench.worker.status.nextAttempt != nil)
        bench.run(for: .seconds(60))
        #expect(bench.destination.offers.isEmpty)
        bench.destination.openError = nil
        bench.run(for: .seconds(20))
        #expect(bench.destination.positions == [[0]])
    }

    @Test func `a worker continues after a failed read of the journal and skips nothing`() {
        let bench = Bench()
        bench.log.append(3)
        bench.turn()
        bench.log.append(3)
        bench.log.state.withLock { $0.failing = true }
        bench.run(for: .seconds(5))
        #expect(bench.worker.status.state == .failing)
        bench.log.state.withLock { $0.failing = false }
        bench.run(for: .seconds(400))
        #expect(bench.destination.positions.flatMap(\.self) == Array(0..<6))
        #expect(bench.worker.status.state == .up)
    }

    @Test func `a worker advances over a long run of filtered events and counts them by reason`() {
        let bench = Bench()
        bench.router.verdict = { .filtered(reason: $0 % 4 == 0 ? "integrations" : "no route") }
        bench.log.append(40_000)
        bench.run(for: .seconds(3))
        #expect(bench.destination.offers.isEmpty)
        #expect(bench.cursors.position == 40_000)
        #expect(bench.worker.status.filtered == ["integrations": 10_000, "no route": 30_000])
    }

    @Test func `a worker advances over positions that the journal lost`() {
        let bench = Bench()
        bench.log.append(10)
        bench.log.state.withLock { $0.missing = 4..<10 }
        bench.run(for: .seconds(2))
        #expect(bench.destination.positions == [[0, 1, 2, 3]])
        #expect(bench.cursors.position == 10)
    }

    @Test func `a worker holds a partial batch for at most the batch wait`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 3, batchWait: .seconds(1)))
        bench.log.append(1)
        #expect(bench.turn() == bench.clock.now() + .seconds(1))
        bench.clock.advance(.milliseconds(500))
        bench.log.append(1)
        bench.turn()
        #expect(bench.destination.offers.isEmpty)
        #expect(bench.worker.status.oldestUnsettled == FakeLog.receivedAt(0))
        bench.clock.advance(.milliseconds(500))
        bench.turn()
        #expect(bench.destination.positions == [[0, 1]])
        bench.log.append(3)
        bench.turn()
        #expect(bench.destination.positions == [[0, 1], [2, 3, 4]])
    }

    @Test func `a worker keeps each batch within the byte limit and sends a larger event alone`() {
        let bench = Bench(DeliveryPolicy(batchBytes: 100))
        bench.router.size = 29
        bench.log.append(7)
        bench.turn()
        #expect(bench.destination.positions == [[0, 1, 2], [3, 4, 5], [6]])
        #expect(bench.destination.offers.allSatisfy { $0.payload.count <= 100 })
        bench.router.size = 400
        bench.log.append(2)
        bench.turn()
        #expect(bench.destination.positions.suffix(2) == [[7], [8]])
    }

    @Test func `a worker obeys the destination's own limits`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 100, inFlight: 8))
        bench.destination.limits = DestinationLimits(maximumBatchEvents: 2, maximumInFlight: 3)
        bench.destination.answer = nil
        bench.log.append(100)
        bench.turn()
        #expect(bench.destination.positions == [[0, 1], [2, 3], [4, 5]])
    }

    @Test func `a worker moves the cursor over the settled prefix only`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, inFlight: 3))
        bench.destination.answer = nil
        bench.log.append(6)
        bench.turn()
        let first = bench.wakes.count.load(ordering: .relaxed)
        bench.destination.settleFirst(.each([.delivered, .retry(reason: "busy")]))
        #expect(bench.wakes.count.load(ordering: .relaxed) == first + 1)
        bench.destination.settleFirst(.all(.delivered))
        bench.destination.settleFirst(.all(.delivered))
        bench.destination.answer = { _ in .all(.delivered) }
        bench.turn()
        bench.clock.advance(.milliseconds(1))
        #expect(bench.worker.status.positionSettled == 1)
        #expect(bench.worker.status.positionDelivered == 6)
        #expect(bench.worker.status.state == .retrying)
        #expect(bench.worker.status.oldestUnsettled == FakeLog.receivedAt(1))
        bench.run(for: .seconds(3))
        #expect(bench.destination.positions.last == [1])
        #expect(bench.destination.offers.last?.events.first?.attempt == 1)
        #expect(bench.cursors.position == 6)
        #expect(bench.worker.status.retries == 1)
    }

    @Test func `a worker does not wake itself for events that settle within its own turn`() {
        let bench = Bench()
        bench.log.append(1)
        bench.turn()
        #expect(bench.worker.status.delivered == 1)
        #expect(bench.wakes.count.load(ordering: .relaxed) == 0)
    }

    @Test func `a worker ends a turn that has lasted long enough and asks for the next one at once`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 1))
        let clock = bench.clock
        bench.destination.answer = { _ in
            clock.advance(.milliseconds(10))
            return .all(.delivered)
        }
        bench.log.append(100)
        let next = bench.turn()
        #expect(bench.destination.offers.count < 10)
        #expect(next.map { $0 <= clock.now() } == true)
        bench.run(for: .seconds(30))
        #expect(bench.worker.status.delivered == 100)
    }

    @Test func `a worker advances over damage behind the last event`() {
        let bench = Bench()
        bench.log.append(5)
        bench.log.state.withLock { $0.missing = 3..<5 }
        bench.run(for: .seconds(1))
        bench.run(for: .seconds(3))
        #expect(bench.cursors.position == 5)
        #expect(bench.worker.status.positionSettled == 5)
    }
}
