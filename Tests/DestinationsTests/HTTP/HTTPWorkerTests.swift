import Delivery
import Destinations
import Events
import Platform
import Synchronization
import Telemetry
import TestSupport
import Testing

/// A real worker that feeds a real HTTP destination on a pool's threads, with scripted faults of the server.
@Suite struct HTTPWorkerTests {
    /// The results of `count` events, sent in batches of four.
    private struct Result {
        var requests: [ScriptedServer.Request]
        var status: DeliveryStatus
        var letters: [DeadLetter]
        /// The cursor's position at the end.
        var cursor: UInt64
    }

    private func run(
        _ count: UInt64, _ script: [ScriptedServer.Reply], inFlight: Int = 1, timeout: Duration = .seconds(60),
        until isDone: (DeliveryStatus) -> Bool
    ) throws -> Result {
        let server = try ScriptedServer(script)
        defer { server.stop() }
        let engine = try HTTPEngine()
        var options = HTTPOptions(url: server.url, version: "1")
        options.format = .ndjson
        options.timeout = timeout
        options.requests = inFlight...inFlight
        let pool = RoutingPool(threads: 2)
        let place = pool.register()
        let store = Keeper()
        let clock = SystemClock()
        let policy = DeliveryPolicy(
            batchEvents: 4, inFlight: inFlight, retryInitial: .milliseconds(1), retryMaximum: .milliseconds(20))
        let worker = DeliveryWorker(
            .init(
                name: "collector", policy: policy, log: CountingLog(end: count), cursors: store, clock: clock,
                telemetry: Telemetry(sink: store, now: { clock.now().nanoseconds })),
            router: PlainRouter(), destination: try HTTPDestination(options, engine: engine), deadLetters: store,
            random: SystemRandomNumberGenerator(), wake: place.wake)
        place.begin { worker.turn(now: $0, for: $1) }
        engine.start()
        pool.start()
        defer {
            pool.stop(by: clock.now() + HTTPHarness.patience)
            engine.stop()
        }
        #expect(eventually { isDone(worker.status) })
        worker.requestStop(by: clock.now() + HTTPHarness.patience)
        #expect(eventually { worker.isStopped })
        return Result(
            requests: server.requests, status: worker.status, letters: store.letters.withLock { $0 },
            cursor: store.position.load(ordering: .relaxed))
    }

    private func events(of requests: some Sequence<ScriptedServer.Request>) -> [UInt64] {
        requests.flatMap { $0.text.split(separator: "\n").compactMap { UInt64($0) } }
    }

    @Test func `every event is delivered in order despite all faults`() throws {
        let result = try run(
            12,
            [
                .status(503), .reset, .hang, .status(200), .resetInMidResponse(),
                .status(429, headers: ["Retry-After: 0"]),
                .status(500), .status(200),
            ], timeout: .milliseconds(300)
        ) { $0.delivered == 12 }
        #expect(result.cursor == 12)
        #expect(result.letters.isEmpty)
        // A batch is offered again until it is delivered; then the next one is offered.
        var seen: [UInt64] = []
        for position in events(of: result.requests) where !seen.contains(position) { seen.append(position) }
        #expect(seen == Array(0..<12))
        // There are six faults. libcurl alone may recover from a reset of a connection that it has used before.
        #expect(result.status.retries >= 5)
    }

    @Test func `a batch that is too large is halved down to the large event`() throws {
        let result = try run(4, [.status(413), .status(413), .status(413), .status(200)]) {
            $0.delivered + $0.deadLettered == 4
        }
        #expect(result.requests.map { $0.text.split(separator: "\n").count }.prefix(3) == [4, 2, 1])
        #expect(result.letters.map(\.position) == [0])
        #expect(events(of: result.requests.dropFirst(3)).sorted() == [1, 2, 3])
        #expect(result.cursor == 4)
    }

    @Test func `a rejected batch is dead-lettered with the response`() throws {
        let result = try run(8, [.status(422, body: "no such table"), .status(200)]) {
            $0.delivered == 4 && $0.deadLettered == 4
        }
        #expect(result.letters.map(\.position) == [0, 1, 2, 3])
        #expect(result.letters.allSatisfy { $0.reason == "HTTP 422" && $0.answer == "no such table" })
        #expect(result.cursor == 8)
    }

    @Test func `without rules, a 400 rejects the invalid event only`() throws {
        let result = try run(4, [.status(400), .status(400), .status(400, body: "bad"), .status(200)]) {
            $0.delivered + $0.deadLettered == 4
        }
        #expect(result.requests.map { $0.text.split(separator: "\n").count } == [4, 2, 1, 3])
        #expect(result.letters.map(\.position) == [0] && result.letters.first?.answer == "bad")
        #expect(result.cursor == 4)
    }

    @Test func `a rejected credential delays the events until it is accepted again`() throws {
        let result = try run(8, [.status(401), .status(403), .status(200)]) { $0.delivered == 8 }
        #expect(result.letters.isEmpty)
        #expect(result.status.lastError?.message.contains("credential") == true)
        #expect(result.cursor == 8)
    }

    @Test func `several batches are in flight at once`() throws {
        let result = try run(4000, [.status(200)], inFlight: 4) { $0.delivered == 4000 }
        #expect(events(of: result.requests).sorted() == Array(0..<4000))
        #expect(Set(result.requests.map(\.connection)).count <= 4)
        #expect(result.cursor == 4000)
    }
}

/// A journal whose events are their own positions, written as JSON numbers.
private struct CountingLog: EventLog {
    let end: UInt64

    func makeReader(from position: UInt64) throws -> any EventReader { Reader(position, end) }

    private final class Reader: EventReader {
        private var next: UInt64
        private let end: UInt64

        init(_ next: UInt64, _ end: UInt64) {
            self.next = next
            self.end = end
        }

        func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool {
            batch.removeAll()
            guard next < end else { return false }
            batch.origins.append(Origin(source: "apps", uid: 0, gid: 0, pid: 1))
            while next < end && batch.ownBytes.count < maximumBytes {
                let text = Array("\(next)".utf8)
                batch.events.append(
                    EventRecord(
                        position: next, receivedAt: 0, offset: UInt32(batch.ownBytes.count), length: UInt32(text.count),
                        origin: 0, index: EventIndex(kind: .track)))
                batch.ownBytes += text
                next += 1
            }
            batch.next = next
            return true
        }
    }
}

private final class PlainRouter: EventRouter {
    func route(
        _ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch
    ) -> RouteVerdict {
        let start = output.payload.count
        output.payload += batch.text(of: event)
        output.events.append(
            OutboundEvent(
                position: event.position, receivedAt: event.receivedAt, kind: .track,
                payload: start..<output.payload.count, messageID: start..<start))
        output.payload.append(UInt8(ascii: "\n"))
        return .routed
    }
}

/// Keeps in memory what the daemon keeps on disk.
private final class Keeper: CursorStore, DeadLetterSink, LogSink {
    let position = Atomic<UInt64>(0)
    let letters = Mutex<[DeadLetter]>([])

    func cursor(of destination: String) -> Cursor { Cursor(position: position.load(ordering: .relaxed)) }
    func advance(_ destination: String, to cursor: Cursor) { position.store(cursor.position, ordering: .relaxed) }
    func commit() throws {}
    func append(_ letters: [DeadLetter]) throws { self.letters.withLock { $0 += letters } }
    func write(_ level: Level, _ line: String) {}
}
