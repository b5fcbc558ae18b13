import Events
import Platform
import Synchronization
import Testing

@testable import Delivery

@Suite("Settled positions")
struct SettledPositionsTests {
    @Test func `settled positions have gaps where batches are in flight`() {
        #expect(
            SettledPositions(routedTo: 50, unsettled: [30..<31, 10..<20], known: [0..<10])
                == SettledPositions(position: 10, ranges: [20..<30, 31..<50]))
        #expect(SettledPositions(routedTo: 50, unsettled: [], known: []) == SettledPositions(position: 50))
        #expect(
            SettledPositions(routedTo: 20, unsettled: [5..<20], known: [0..<5, 8..<10, 25..<30])
                == SettledPositions(position: 5, ranges: [8..<10, 25..<30]), "ranges of an earlier run stay settled")
    }

    @Test func `settled positions are recorded before the next batch is offered`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, inFlight: 2))
        bench.destination.settlesAtOnce = true
        bench.destination.answer = nil
        bench.log.append(8)
        bench.turn()
        // The second batch is delivered before the first.
        bench.destination.settleLast(.all(.delivered))
        bench.turn()
        #expect(bench.destination.positions == [[0, 1], [2, 3], [4, 5]])
        #expect(bench.cursors.settled.withLock { $0.last } == SettledPositions(position: 0, ranges: [2..<4]))
        #expect(bench.cursors.position == 0)
    }

    @Test func `settled positions are not offered again after a restart, and the router recalls them`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, inFlight: 2))
        bench.destination.settlesAtOnce = true
        bench.cursors.settled.withLock { $0 = [SettledPositions(position: 1, ranges: [2..<4, 6..<7])] }
        bench.log.append(8)
        bench.turn()
        #expect(bench.destination.positions.flatMap { $0 } == [1, 4, 5, 7])
        #expect(bench.router.recalled == [2, 3, 6])
        #expect(bench.cursors.settled.withLock { $0.last } == SettledPositions(position: 8))
    }

    @Test func `settled positions are not recorded for a destination that keeps state`() {
        let bench = Bench(DeliveryPolicy(batchEvents: 2, inFlight: 2))
        bench.log.append(8)
        bench.turn()
        #expect(bench.cursors.settled.withLock { $0.isEmpty })
    }
}
