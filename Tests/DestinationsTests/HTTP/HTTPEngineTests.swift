import Delivery
import Destinations
import Platform
import Synchronization
import TestSupport
import Testing

@Suite struct HTTPEngineTests {
    @Test func aTurnComesAtTheStartAtItsDeadlineAndWhenWoken() throws {
        let engine = try HTTPEngine()
        let box = Box()
        let registration = engine.register { now in
            box.note(now) == 1 ? now + .milliseconds(30) : nil
        }
        engine.start()
        defer { engine.stop() }
        #expect(eventually { box.count == 2 })
        let times = box.times
        #expect(times[1] - times[0] >= .milliseconds(30))
        registration.wake()
        #expect(eventually { box.count == 3 })
    }

    @Test func aCancelledTurnIsLetGoAndNotTakenAgain() throws {
        let engine = try HTTPEngine()
        engine.start()
        defer { engine.stop() }
        let box = Box()
        weak let watched: Token?
        let registration: HTTPEngineRegistration
        do {
            let token = Token()
            watched = token
            registration = engine.register { now in
                withExtendedLifetime(token) { _ = box.note(now) }
                return nil
            }
        }
        #expect(eventually { box.count == 1 })
        registration.cancel()
        #expect(eventually { watched == nil })
        registration.wake()
        #expect(box.count == 1)
    }

    @Test func anEngineThatNeverStartedLetsItsTurnsGo() throws {
        let engine = try HTTPEngine()
        weak let watched: Token?
        do {
            let token = Token()
            watched = token
            _ = engine.register { _ in
                withExtendedLifetime(token) {}
                return nil
            }
        }
        #expect(watched != nil)
        engine.stop()
        #expect(watched == nil)
    }

    @Test func wakingASleepingEngineDoesNotWaitForItsHeartbeat() throws {
        let engine = try HTTPEngine()
        let box = Box()
        let registration = engine.register { now in
            _ = box.note(now)
            return nil
        }
        engine.start()
        defer { engine.stop() }
        let began = SystemClock().now()
        for turn in 1...100 {
            #expect(eventually { box.count >= turn })
            registration.wake()
        }
        // A hundred heartbeats would be a hundred seconds.
        #expect(SystemClock().now() - began < .seconds(30))
    }

    @Test func theHeartbeatGoesOnWhileThereIsNothingToDo() throws {
        let engine = try HTTPEngine()
        engine.start()
        defer { engine.stop() }
        let before = engine.heartbeat
        #expect(eventually { engine.heartbeat >= before + 2 })
    }

    @Test func wakingFromManyThreadsLosesNothing() throws {
        let engine = try HTTPEngine()
        let asked = Counter()
        let seen = Counter()
        let registration = engine.register { _ in
            seen.set(asked.value)
            return nil
        }
        engine.start()
        defer { engine.stop() }
        let threads = (0..<4).map { _ in
            WorkerThread(name: "waker") {
                for _ in 0..<2000 {
                    asked.add()
                    registration.wake()
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(eventually { seen.value == 8000 })
    }

    @Test func stoppingSettlesWhatIsUnderWay() throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        let harness = try HTTPHarness(HTTPOptions(url: server.url, version: "1"))
        let settled = harness.offer(outbound(["{}"]))
        #expect(eventually { server.requests.count == 1 })
        #expect(!settled.isSettled)
        harness.stop()
        guard case .all(.retry) = try settled.wait() else {
            Issue.record("not given back")
            return
        }
    }

    @Test func closingTheDestinationGivesEverythingBack() throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        var options = HTTPOptions(url: server.url, version: "1")
        options.requests = 1...1
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        let settled = (0..<3).map { _ in harness.offer(outbound(["{}"])) }
        #expect(eventually { server.requests.count == 1 })
        harness.onEngine { $0.close() }
        for one in settled {
            guard case .all(.retry) = try one.wait() else {
                Issue.record("not given back")
                return
            }
        }
    }

    @Test func aServerThatHangsDoesNotDelayAnother() throws {
        let hanging = try ScriptedServer([.hang])
        defer { hanging.stop() }
        let well = try ScriptedServer([.status(200)])
        defer { well.stop() }
        let engine = try HTTPEngine()
        let ends = Counter()
        let stuck = Counter()
        try offerFour(hanging, engine) { stuck.add() }
        try offerFour(well, engine) { ends.add() }
        engine.start()
        #expect(eventually { ends.value == 4 })
        #expect(stuck.value == 0)
        engine.stop()
    }

    /// Registers a turn that delivers four batches, once.
    private func offerFour(
        _ server: ScriptedServer, _ engine: HTTPEngine, _ settled: @escaping @Sendable () -> Void
    ) throws {
        let destination = try HTTPDestination(HTTPOptions(url: server.url, version: "1"), engine: engine)
        var left = 4
        _ = engine.register { _ in
            while left > 0 {
                left -= 1
                destination.deliver(outbound(["{}"]), DeliveryClaim { _ in settled() })
            }
            return nil
        }
    }
}

private final class Token: Sendable {}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .sequentiallyConsistent) }
    func add() { count.wrappingAdd(1, ordering: .sequentiallyConsistent) }
    func set(_ value: Int) { count.store(value, ordering: .sequentiallyConsistent) }
}

/// The instants of turns.
private final class Box: Sendable {
    private let instants = Mutex<[Instant]>([])
    var times: [Instant] { instants.withLock { $0 } }
    var count: Int { times.count }
    /// - Returns: how many there are now.
    func note(_ now: Instant) -> Int {
        instants.withLock { instants in
            instants.append(now)
            return instants.count
        }
    }
}
