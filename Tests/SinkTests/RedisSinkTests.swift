import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// The redis plugin as it ships, loaded by the host, with a real server.
@Suite struct RedisSinkTests {
    let directory: PluginTestDirectory
    let server: RedisServer

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libredis.so")
        server = try RedisServer()
    }

    private func stage(_ more: String = "", stream: String = "events", address: String? = nil) throws -> PluginStage {
        try PluginStage(
            "redis", in: directory,
            settings: #"{"address":"\#(address ?? server.socket)","stream":"\#(stream)"\#(more)}"#)
    }

    private func open(_ more: String = "", stream: String = "events") throws -> PluginStage {
        let stage = try stage(more, stream: stream)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    private func error(_ stage: PluginStage) -> String {
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        return error?.description ?? "none"
    }

    private func deliver(_ positions: [UInt64], to stage: PluginStage) -> Bool { stage.deliver(positions) }

    private func reason(_ stage: PluginStage, _ positions: [UInt64] = [1]) -> String? {
        if stage.destination.failure != nil {
            stage.destination.close()
            do { _ = try stage.destination.open(from: Cursor(position: 0)) } catch { return "\(error)" }
        }
        guard let outcomes = stage.outcomes(stage.offer(positions), count: positions.count),
            outcomes.allSatisfy({ $0 == outcomes.first }), case .retry(let reason, after: _, answer: _) = outcomes.first
        else { return nil }
        return reason
    }

    @Test func `an event becomes an entry with all its parts`() throws {
        let stage = try open()
        let json =
            #"{"type":"track","event":"Müll \"A\"","userId":"u1","messageId":"m-\u0031","properties":{"total":12.50}}"#
        var batch = PluginStage.batch([(41, .track, json)])
        batch.events[0].part = .max
        #expect(stage.outcomes(stage.offer(batch), count: 1) == [.delivered])
        #expect(
            try server.entries() == [
                [
                    "position": "41", "part": "4294967295", "message_id": "m-1", "kind": "track",
                    "event": #"Müll "A""#, "payload": json,
                ]
            ])
        #expect(stage.destination.metrics.counters["redis_entries"] == 1)
    }

    @Test func `any JSON value is stored, and a missing field is an empty text`() throws {
        let stage = try open()
        let large = #"{"event":"\#(String(repeating: "x", count: 4 << 20))"}"#
        let values = [
            "{}", "[]", "null", "12", #""text""#, #"{"event":"a\u0000b\r\n","messageId":"\u0000"}"#,
            #"{"event":null,"messageId":7}"#, #"{"event":{"a":1}}"#, large,
        ]
        let last = UInt64.max - 1
        let batch = PluginStage.batch(values.enumerated().map { (last - 8 + UInt64($0), .identify, $1) })
        #expect(stage.outcomes(stage.offer(batch), count: 9) == Array(repeating: .delivered, count: 9))
        let entries = try server.entries()
        // Not compared whole: a failure would print the large one.
        #expect(entries.prefix(8).map { $0["payload"] } == Array(values.prefix(8)))
        #expect(entries.last?["payload"]?.utf8.count == large.utf8.count)
        #expect(entries.map { $0["position"] }.last == "18446744073709551614")
        #expect(
            entries.map { $0["event"] }.dropLast() == ["", "", "", "", "", "a\0b\r\n", "", ""])
        #expect(entries.map { $0["kind"] } == Array(repeating: "identify", count: 9))
    }

    @Test func `a key has fields of the event`() throws {
        let stage = try open(stream: "e.{kind}.{properties.plan|free}.{$.userId}")
        let batch = PluginStage.batch([
            (1, .track, #"{"userId":"a b","properties":{"plan":"pro"}}"#), (2, .page, #"{"properties":{"plan":7}}"#),
            (3, .track, #"{"userId":true,"properties":{"plan":{}}}"#), (4, .track, "[]"),
        ])
        #expect(stage.outcomes(stage.offer(batch), count: 4) == Array(repeating: .delivered, count: 4))
        #expect(
            try server.ask("KEYS", "*").split(separator: "\n").sorted() == [
                "e.page.7.none", "e.track.free.none", "e.track.free.true", "e.track.pro.a b",
            ])
    }

    @Test func `events are stored once and in order`() throws {
        let stage = try open()
        for batch: UInt64 in 0..<5 {
            let positions = Array(batch * 1000..<(batch + 1) * 1000)
            #expect(stage.outcomes(stage.offer(positions), count: 1000)?.allSatisfy { $0 == .delivered } == true)
        }
        #expect(try server.positions() == Array(0..<5000))
        #expect(stage.destination.limits.maximumInFlight == 1)
    }

    @Test func `a stream keeps its newest entries`() throws {
        let stage = try open(#","max_length":100"#)
        for batch: UInt64 in 0..<5 { _ = stage.offer(Array(batch * 500..<(batch + 1) * 500)) }
        let positions = try server.positions()
        #expect(positions.count >= 100 && positions.count < 500)
        #expect(positions.last == 2499)
    }

    @Test func `a server that does not run at the start is waited for`() throws {
        server.kill()
        let stage = try stage()
        #expect(error(stage).contains("the plugin redis cannot connect: redis at \(server.socket): "))
        try server.start()
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(deliver([1], to: stage))
        #expect(try server.positions() == [1])
    }

    @Test func `a server that was restarted gets the next batch`() throws {
        let stage = try open()
        #expect(deliver([1, 2], to: stage))
        server.kill()
        #expect(reason(stage, [3, 4])?.contains("redis at \(server.socket): ") == true)
        try server.start()
        #expect(deliver([3, 4], to: stage))
        #expect(try server.positions() == [1, 2, 3, 4])
    }

    @Test func `no event is lost when the server is killed in the middle`() throws {
        let stage = try open()
        let kills = 3
        let killing = Thread { [server] in
            for _ in 0..<kills {
                let before = server.length()
                _ = pluginEventually { server.length() > before + 100 }
                server.kill()
                try? server.start()
            }
        }
        killing.start()
        var next: UInt64 = 0
        repeat {
            #expect(deliver(Array(next..<next + 50), to: stage))
            next += 50
        } while !killing.isFinished && next < 1_000_000
        #expect(pluginEventually { killing.isFinished })
        let positions = try server.positions()
        // A batch may be there twice, as a whole; first occurrences are in order.
        var seen: Set<UInt64> = []
        let first = positions.filter { seen.insert($0).inserted }
        #expect(first == Array(0..<next))
        #expect(positions.count - first.count <= kills * 50)
        #expect((positions.count - first.count).isMultiple(of: 50))
    }

    @Test func `a server that hangs is given up after the timeout`() throws {
        let stage = try open(#","timeout":"2s""#)
        try server.suspend()
        #expect(
            reason(stage) == "redis at \(server.socket): the server did not answer within settings.timeout")
        server.signal(SIGCONT)
        #expect(deliver([1], to: stage))
        #expect(try Set(server.positions()) == [1])
    }

    @Test func `a key of another type holds back a fixed stream`() throws {
        let stage = try open()
        try server.ask("SET", "events", "text")
        #expect(reason(stage, [1, 2])?.contains("WRONGTYPE") == true)
        try server.ask("DEL", "events")
        #expect(deliver([1, 2], to: stage))
        #expect(try server.positions() == [1, 2])
    }

    @Test func `a key of another type rejects only its event if the key comes from the event`() throws {
        let stage = try open(stream: "{event}")
        try server.ask("SET", "b", "text")
        let batch = PluginStage.batch(
            ["a", "b", "c"].enumerated().map { (UInt64($0), .track, #"{"event":"\#($1)"}"#) })
        let outcomes = try #require(stage.outcomes(stage.offer(batch), count: 3))
        #expect(outcomes[0] == .delivered && outcomes[2] == .delivered)
        guard case .rejected(let reason, answer: _) = outcomes[1] else {
            throw TestProblem(description: "\(outcomes[1])")
        }
        #expect(reason.hasPrefix("WRONGTYPE"))
        #expect(try server.positions("a") == [0])
    }

    @Test func `a server without memory stores no event of the batch`() throws {
        let stage = try open()
        try server.ask("CONFIG", "SET", "maxmemory", "1")
        let reason = try #require(self.reason(stage, [1, 2, 3]))
        #expect(reason.contains("OOM") && reason.contains("settings.max_length"))
        try server.ask("CONFIG", "SET", "maxmemory", "0")
        #expect(deliver([1, 2, 3], to: stage))
        #expect(try server.positions() == [1, 2, 3])
    }

    @Test func `a replica is refused until it is the primary`() throws {
        let stage = try open()
        try server.ask("REPLICAOF", "127.0.0.1", "1")
        #expect(reason(stage)?.contains("READONLY") == true)
        try server.ask("REPLICAOF", "NO", "ONE")
        #expect(deliver([1], to: stage))
        #expect(try server.positions() == [1])
    }

    @Test func `a server that loads its data is waited for`() throws {
        let stage = try open()
        for batch: UInt64 in 0..<4 { #expect(deliver(Array(batch * 1000..<(batch + 1) * 1000), to: stage)) }
        server.kill()
        try server.start(["--key-load-delay", "1000"], waiting: false)
        #expect(pluginEventually { (try? server.ask("PING"))?.hasPrefix("LOADING") == true })
        // The first answer is that the old connection has ended.
        #expect(pluginEventually { reason(stage, [9000])?.contains("LOADING") == true })
        #expect(deliver([9000], to: stage))
        #expect(try server.positions().suffix(2) == [3999, 9000])
    }

    @Test func `a node of a cluster is refused`() throws {
        let server = try RedisServer(["--cluster-enabled", "yes", "--port", "0"])
        let stage = try stage(address: server.socket)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(reason(stage)?.contains("CLUSTERDOWN") == true)
    }

    @Test func `user, password and database are used`() throws {
        try server.ask(
            "ACL", "SETUSER", "app", "on", ">secret", "~events", "+xadd", "+multi", "+exec", "+discard", "+ping",
            "+select")
        try server.ask("CONFIG", "SET", "requirepass", "other")
        #expect(error(try stage()).contains("Set settings.password"))
        #expect(error(try stage(#","password":"wrong""#)).contains("Check settings.username and settings.password"))
        #expect(error(try stage(#","username":"app","password":"wrong""#)).contains("WRONGPASS"))
        let other = try open(#","username":"app","password":"secret""#, stream: "others")
        #expect(reason(other)?.contains("the user needs the keys and the commands") == true)
        let stage = try open(#","username":"app","password":"secret","database":3"#)
        #expect(deliver([5], to: stage))
        #expect(try server.entries("events", ["-a", "other", "--no-auth-warning", "-n", "3"]).count == 1)
    }

    @Test func `a user without a key's permission rejects only its event if the key comes from the event`() throws {
        try server.ask("ACL", "SETUSER", "app", "on", ">secret", "~a*", "+xadd", "+multi", "+exec", "+discard", "+ping")
        let stage = try open(#","username":"app","password":"secret""#, stream: "{event}")
        let batch = PluginStage.batch(
            ["a", "b", "ac"].enumerated().map { (UInt64($0), .track, #"{"event":"\#($1)"}"#) })
        let outcomes = try #require(stage.outcomes(stage.offer(batch), count: 3))
        guard case .rejected(let reason, answer: _) = outcomes[1], case .retry = outcomes[0], case .retry = outcomes[2]
        else {
            throw TestProblem(description: "\(outcomes)")
        }
        #expect(reason.hasPrefix("NOPERM"))
        var rest = batch
        rest.events.remove(at: 1)
        #expect(stage.outcomes(stage.offer(rest), count: 2) == [.delivered, .delivered])
    }

    @Test(arguments: [
        (#"{"address":"localhost","stream":"e"}"#, #"settings.address: "localhost" must be HOST:PORT"#),
        (#"{"address":":6379","stream":"e"}"#, "settings.address"),
        (#"{"address":"h:0","stream":"e"}"#, "settings.address"),
        (#"{"address":"h:65536","stream":"e"}"#, "settings.address"),
        (#"{"address":"/\#(String(repeating: "x", count: 107))","stream":"e"}"#, "at most 107 bytes"),
        (#"{"address":"h:1","stream":"a{event"}"#, #"settings.stream: "a{event" has a { without a }"#),
        (#"{"address":"h:1","stream":"a}"}"#, "has a } without a {"),
        (#"{"address":"h:1","stream":"{}"}"#, "has {}, which is not the path of a field"),
        (#"{"address":"h:1","stream":"{a..b}"}"#, "has {a..b}, which is not the path"),
        (#"{"address":"h:1","stream":"e","username":"u"}"#, "settings.username: needs a password"),
        (#"{"address":"h:1","stream":"e","timeout":"0s"}"#, "settings.timeout: is 0s, but must be"),
        (#"{"address":"h:1","stream":"e","timeout":5}"#, "settings.timeout"),
        (#"{"address":"h:1"}"#, "settings.stream"),
        (#"{"address":"h:1","stream":"e","tls":true}"#, "settings.tls"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        let text = error(try PluginStage("redis", in: directory, settings: settings))
        #expect(text.contains(words), "\(text)")
    }
}
