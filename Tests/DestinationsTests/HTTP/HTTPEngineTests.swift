import Delivery
import Destinations
import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct HTTPEngineTests {
    @Test func `the heartbeat continues while there is nothing to do`() throws {
        let engine = try HTTPEngine()
        engine.start()
        defer { engine.stop() }
        let before = engine.heartbeat
        #expect(eventually { engine.heartbeat >= before + 2 })
    }

    @Test func `a stopping engine settles the requests in flight`() throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        let harness = try HTTPHarness(HTTPOptions(url: server.url, version: "1"))
        let settled = harness.offer(outbound(["{}"]))
        #expect(eventually { server.requests.count == 1 })
        #expect(!settled.isSettled)
        harness.stopEngine()
        defer { harness.stop() }
        guard case .all(.retry) = try settled.wait() else {
            Issue.record("not settled as retry")
            return
        }
    }

    @Test func `a batch offered to a stopped engine is settled as retry`() throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let harness = try HTTPHarness(HTTPOptions(url: server.url, version: "1"))
        defer { harness.stop() }
        harness.stopEngine()
        guard case .retry(let reason, _, _) = try harness.outcome(of: outbound(["{}"])) else {
            Issue.record("not settled as retry")
            return
        }
        #expect(reason.contains("the HTTP engine was stopped"))
        #expect(server.requests.isEmpty)
    }

    @Test func `a response that arrives after a close and a reopening is ignored`() throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let harness = try HTTPHarness(HTTPOptions(url: server.url, version: "1"))
        defer { harness.stop() }
        let settled = (0..<50).map { _ in
            harness.inTurn { destination in
                destination.close()
                #expect((try? destination.open(from: Cursor(position: 0))) == .some(nil))
            }
            return harness.offer(outbound(["{}"]))
        }
        // The next close may come before the response to an offer, except to the last one. Each batch is settled once.
        for one in settled { _ = try one.wait() }
        guard case .all(.delivered) = try harness.deliver(outbound(["{}"])) else {
            Issue.record("not delivered")
            return
        }
    }

    @Test func `a long turn delays no transfer of another destination`() throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let harness = try HTTPHarness(HTTPOptions(url: server.url, version: "1"))
        defer { harness.stop() }
        let slow = try HTTPHarness(HTTPOptions(url: server.url, version: "1"), engine: harness.engine)
        defer { slow.stop() }
        let (isIn, release) = (Doorbell(), Doorbell())
        slow.inTurn { _ in
            isIn.ring()
            release.wait()
        }
        isIn.wait()
        defer { release.ring() }
        guard case .all(.delivered) = try harness.deliver(outbound(["{}"])) else {
            Issue.record("not delivered")
            return
        }
    }

    @Test func `a closing destination settles its batches as retry`() throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        var options = HTTPOptions(url: server.url, version: "1")
        options.requests = 1...1
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        let settled = (0..<3).map { _ in harness.offer(outbound(["{}"])) }
        #expect(eventually { server.requests.count == 1 })
        harness.inTurn { $0.close() }
        for one in settled {
            guard case .all(.retry) = try one.wait() else {
                Issue.record("not settled as retry")
                return
            }
        }
    }

    @Test func `a hanging server does not delay another server`() throws {
        let hanging = try ScriptedServer([.hang])
        defer { hanging.stop() }
        let well = try ScriptedServer([.status(200)])
        defer { well.stop() }
        let engine = try HTTPEngine()
        let ends = Counter()
        let stuck = Counter()
        let pool = RoutingPool(threads: 2)
        try offerFour(hanging, engine, pool) { stuck.add() }
        try offerFour(well, engine, pool) { ends.add() }
        engine.start()
        pool.start()
        #expect(eventually { ends.value == 4 })
        #expect(stuck.value == 0)
        pool.stop(by: SystemClock().now() + HTTPHarness.patience)
        engine.stop()
    }

    /// Registers a turn that delivers four batches, once.
    private func offerFour(
        _ server: ScriptedServer, _ engine: HTTPEngine, _ pool: RoutingPool, _ settled: @escaping @Sendable () -> Void
    ) throws {
        let destination = try HTTPDestination(HTTPOptions(url: server.url, version: "1"), engine: engine)
        var left = 4
        let place = pool.register()
        destination.attach(wake: place.wake)
        place.begin { _, _ in
            destination.resume()
            while left > 0 {
                left -= 1
                destination.deliver(outbound(["{}"]), DeliveryClaim { _ in settled() })
            }
            return nil
        }
    }
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
    func add() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
}
