import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Synchronization
import Testing

/// The redis plugin with `exactly_once: true`.
@Suite struct RedisExactlyOnceTests {
    let directory: PluginTestDirectory
    let server: RedisServer

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libredis.so")
        server = try RedisServer()
    }

    private func stage(
        _ more: String = "", stream: String = "events", journal: String = "journal-1",
        adjust: (inout PluginDestinationOptions) -> Void = { _ in }
    ) throws -> PluginStage {
        try PluginStage(
            "redis", in: directory,
            settings: #"{"address":"\#(server.socket)","stream":"\#(stream)","exactly_once":true\#(more)}"#,
            journal: journal, adjust: adjust)
    }

    private func open(
        _ more: String = "", stream: String = "events", cursor: Cursor = Cursor(position: 0)
    ) throws -> PluginStage {
        let stage = try stage(more, stream: stream)
        #expect(try stage.destination.open(from: cursor) == nil)
        return stage
    }

    private func deliver(_ positions: [UInt64], to stage: PluginStage) -> Bool { stage.deliver(positions) }

    private func reason(_ stage: PluginStage, _ positions: [UInt64]) -> String? {
        let first = stage.outcomes(stage.offer(positions), count: positions.count)?.first
        guard case .retry(let reason, after: _, answer: _) = first else { return nil }
        return reason
    }

    private func stored(_ field: String) throws -> String {
        try server.ask("HGET", "penstock:position:warehouse", field)
    }

    @Test func `the position and the entries are stored together`() throws {
        let stage = try open(#","max_length":1000"#)
        let batch = PluginStage.batch([(41, .track, #"{"event":"a\u0000","messageId":"m-1"}"#)])
        #expect(stage.outcomes(stage.offer(batch), count: 1) == [.delivered])
        #expect(
            try server.entries() == [
                [
                    "position": "41", "part": "0", "message_id": "m-1", "kind": "track", "event": "a\0",
                    "payload": #"{"event":"a\u0000","messageId":"m-1"}"#,
                ]
            ])
        #expect(try stored("position") == "41")
        #expect(try stored("destination") == "warehouse")
        #expect(try stored("journal") == "journal-1")
        #expect(try stage.destination.checkpoint() == [41, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func `no event is stored twice after a restart`() throws {
        let first = try open()
        #expect(deliver([0, 1, 2], to: first))
        first.destination.close()
        // The cursor was never saved, so all events are offered again, and one more.
        let second = try open()
        #expect(deliver([0, 1, 2, 3], to: second))
        #expect(second.destination.metrics.counters["redis_entries"] == 1)
        #expect(try server.positions() == [0, 1, 2, 3])
    }

    @Test func `every event is stored once when the server is killed in the middle`() throws {
        let stage = try open()
        let failures = Mutex<[String]>([])
        let killing = Thread { [server] in
            for _ in 0..<4 {
                // The number only: to read all entries again and again takes longer than to store them.
                let before = server.length()
                _ = pluginEventually { server.length() > before + 100 }
                server.kill()
                do {
                    try server.repair()
                    try server.start()
                } catch {
                    failures.withLock { $0.append("\(error): \(server.log)") }
                }
            }
        }
        killing.start()
        let end = ContinuousClock.now + .seconds(300)
        var next: UInt64 = 0
        repeat {
            #expect(deliver(Array(next..<next + 50), to: stage))
            next += 50
        } while !killing.isFinished && ContinuousClock.now < end
        #expect(pluginEventually { killing.isFinished })
        try #require(failures.withLock { $0 } == [])
        let positions = try server.positions()
        let repeated = zip(positions, positions.dropFirst()).filter { $0 >= $1 }.map(\.1)
        #expect(repeated.isEmpty, "\(server.log)")
        #expect(Set(positions) == Set(0..<next), "\(Set(0..<next).subtracting(positions).sorted()): \(server.log)")
    }

    @Test(arguments: 0..<5) func `a transaction whose reply does not come is not executed twice`(round: Int) throws {
        let stage = try open(#","timeout":"2s""#)
        #expect(deliver([1, 2], to: stage))
        try server.suspend()
        #expect(reason(stage, [3, 4])?.contains("did not answer within settings.timeout") == true)
        // Further attempts reach the server's socket, too.
        for _ in 0..<round { #expect(reason(stage, [3, 4]) != nil) }
        server.signal(SIGCONT)
        #expect(deliver([3, 4], to: stage))
        #expect(deliver([5], to: stage))
        #expect(try server.positions() == [1, 2, 3, 4, 5])
    }

    @Test func `events of a replay are stored again, and the position stays`() throws {
        let stage = try open()
        #expect(deliver([1, 2, 3], to: stage))
        #expect(deliver([1, 2], to: stage))
        #expect(try server.positions() == [1, 2, 3, 1, 2])
        #expect(try stored("position") == "3")
    }

    @Test func `a rejected event holds the position back, and no other event comes twice`() throws {
        try server.ask("SET", "b", "text")
        let events: [(UInt64, EventKind, String)] = ["a", "a", "b", "c", "b", "c"].enumerated().map {
            (UInt64($0), .track, #"{"event":"\#($1)"}"#)
        }
        var batch = PluginStage.batch(events)
        // A part of a rejected event's position that is stored.
        batch.events[1].position = 2
        batch.events[2].part = 1
        let first = try open(stream: "{event}")
        let outcomes = try #require(first.outcomes(first.offer(batch), count: 6))
        #expect(outcomes.map { $0 == .delivered } == [true, true, false, true, false, true])
        #expect(try stored("position") == "1")
        first.destination.close()
        let second = try open(stream: "{event}")
        let again = try #require(second.outcomes(second.offer(batch), count: 6))
        #expect(again.map { $0 == .delivered } == [true, true, false, true, false, true])
        #expect(try server.positions("a") == [0, 2])
        #expect(try server.positions("c") == [3, 5])
        // When the next batch is offered, the host has dead-lettered the rejected event.
        let next = PluginStage.batch([(6, .track, #"{"event":"c"}"#)])
        #expect(second.outcomes(second.offer(next), count: 1) == [.delivered])
        #expect(try stored("position") == "6")
        #expect(try server.positions("c") == [3, 5, 6])
    }

    @Test func `positions are exact up to the largest`() throws {
        let stage = try open()
        let last = UInt64.max - 1
        #expect(deliver([(1 << 53) + 1, last - 1, last], to: stage))
        #expect(try stored("position") == "\(last)")
        stage.destination.close()
        let second = try open(cursor: Cursor(position: last - 1))
        #expect(deliver([last - 1, last], to: second))
        #expect(try server.positions() == [(1 << 53) + 1, last - 1, last])
    }

    @Test func `a server without memory stores nothing`() throws {
        let stage = try open()
        try server.ask("CONFIG", "SET", "maxmemory", "1")
        #expect(reason(stage, [1, 2])?.contains("OOM") == true)
        try server.ask("CONFIG", "SET", "maxmemory", "0")
        #expect(deliver([1, 2], to: stage))
        #expect(try server.positions() == [1, 2])
    }

    @Test func `a server that has lost entries gets them again`() throws {
        let stage = try open()
        #expect(deliver([0, 1], to: stage))
        server.kill()
        let data = "\(server.directory.path)/appendonlydir"
        try FileManager.default.copyItem(atPath: data, toPath: data + ".backup")
        try server.start()
        #expect(deliver([2, 3], to: stage))
        let state = try #require(try stage.destination.checkpoint())
        server.kill()
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.moveItem(atPath: data + ".backup", toPath: data)
        try server.start()
        #expect(reason(stage, [4]) != nil)
        #expect(stage.destination.failure != nil)
        stage.destination.close()
        let second = try self.stage()
        #expect(try second.destination.open(from: Cursor(position: 4, state: state)) == 2)
        #expect(deliver([2, 3, 4], to: second))
        #expect(try server.positions() == [0, 1, 2, 3, 4])
    }

    @Test func `an emptied server is noticed at once`() throws {
        let stage = try open()
        #expect(deliver([0, 1], to: stage))
        try server.ask("FLUSHALL")
        #expect(reason(stage, [2])?.contains("has lost it") == true)
        #expect(stage.destination.failure?.contains("has lost it") == true)
        #expect(try server.ask("EXISTS", "events") == "0")
    }

    @Test func `a position of another journal or destination is refused`() throws {
        let stage = try open()
        #expect(deliver([1], to: stage))
        let journal = #expect(throws: PluginError.self) {
            try self.stage(journal: "journal-2").destination.open(from: Cursor(position: 0))
        }
        #expect(
            journal?.description.contains("holds the position of another journal: set another settings.position_key")
                == true)
        let other = try self.stage(#","position_key":"penstock:position:warehouse""#) { $0.destination = "archive" }
        let destination = #expect(throws: PluginError.self) {
            try other.destination.open(from: Cursor(position: 0))
        }
        #expect(destination?.description.contains("holds the position of destination warehouse") == true)
    }
}
