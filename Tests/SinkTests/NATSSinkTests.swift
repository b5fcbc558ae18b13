import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// The nats plugin as it ships, loaded by the host, with a real nats-server.
@Suite struct NATSSinkTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        // The plugin's file: its product has another name, for the linker's sake.
        try directory.add(
            "nats.so", try Data(contentsOf: URL(fileURLWithPath: TestCompiler.built("libpenstock-nats.so"))))
    }

    private func open(
        _ servers: NATSServers, _ more: String, destination: String = "warehouse", journal: String = "j1"
    ) throws -> PluginStage {
        let stage = try PluginStage(
            "nats", in: directory, settings: #"{"servers":\#(servers.urls),\#(more)}"#, journal: journal
        ) { $0.destination = destination }
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    /// Waits for the outcomes of a batch.
    private func outcomes(_ stage: PluginStage, _ events: [(UInt64, EventKind, String)]) -> [Outcome]? {
        let batch = stage.offer(PluginStage.batch(events))
        _ = pluginEventually { !stage.answers(batch).isEmpty }
        return stage.outcomes(batch, count: events.count)
    }

    private func error(_ servers: NATSServers, _ more: String) throws -> String {
        let stage = try PluginStage("nats", in: directory, settings: #"{"servers":\#(servers.urls),\#(more)}"#)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        return error?.description ?? ""
    }

    @Test func `an event becomes a message with its subject, its payload and an id`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "events.>")
        let stage = try open(servers, #""subject":"events.{kind}.{event}","stream":"S""#)
        var batch = PluginStage.batch([
            (41, .track, #"{"event":"Order Completed","messageId":"m-\u0031"}"#), (41, .page, #"{"messageId":"m2"}"#),
        ])
        batch.events[1].part = 1
        let offer = stage.offer(batch)
        #expect(pluginEventually { stage.outcomes(offer, count: 2) == [.delivered, .delivered] })
        let messages = try client.messages("S")
        #expect(messages.map(\.subject) == ["events.track.Order_Completed", "events.page.none"])
        #expect(
            messages.map(\.data) == [#"{"event":"Order Completed","messageId":"m-\u0031"}"#, #"{"messageId":"m2"}"#])
        #expect(
            messages.map(\.headers) == [
                ["Nats-Msg-Id": "j1:41:0:warehouse", "Penstock-Kind": "track", "Penstock-Message-Id": "m-1"],
                ["Nats-Msg-Id": "j1:41:1:warehouse", "Penstock-Kind": "page", "Penstock-Message-Id": "m2"],
            ])
    }

    @Test(arguments: [
        (#"{"a":"x.y*z>w $v\u0000\n\t"}"#, "t.x_y_z_w__v___.end"), (#"{"a":"M\u00fcll"}"#, "t.Müll.end"),
        (#"{"a":""}"#, "t.none.end"), (#"{"a":null}"#, "t.none.end"), (#"{"a":{"b":1}}"#, "t.none.end"),
        (#"{"a":12.50}"#, "t.12_50.end"), (#"{"a":true}"#, "t.true.end"), ("[1,2]", "t.none.end"),
        ("null", "t.none.end"),
        (#""text""#, "t.none.end"), ("9223372036854775807", "t.none.end"), ("{}", "t.none.end"),
    ])
    func `a field becomes a safe token of the subject, whatever it contains`(json: String, subject: String) throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "t.>")
        let stage = try open(servers, #""subject":"t.{$.a}.end""#)
        #expect(outcomes(stage, [(1, .track, json)]) == [.delivered])
        let messages = try client.messages("S")
        #expect(messages.map(\.subject) == [subject])
        #expect(messages.map(\.data) == [json])
    }

    @Test func `an event that is offered again is stored once, even by a new process`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "e")
        let first = try open(servers, #""subject":"e""#)
        let events = (0..<50).map { (UInt64($0), EventKind.track, PluginStage.event(UInt64($0))) }
        #expect(outcomes(first, events)?.allSatisfy { $0 == .delivered } == true)
        #expect(outcomes(first, events)?.allSatisfy { $0 == .delivered } == true)
        first.destination.close()
        let second = try open(servers, #""subject":"e""#)
        #expect(outcomes(second, events)?.allSatisfy { $0 == .delivered } == true)
        #expect(try client.messages("S").map(\.position) == (0..<50).map { $0 })
        #expect(second.destination.metrics.counters["nats_duplicates"] == 50)
        // Another destination's, and another journal's events are others.
        _ = outcomes(try open(servers, #""subject":"e""#, destination: "copy"), events)
        _ = outcomes(try open(servers, #""subject":"e""#, journal: "j2"), events)
        #expect(try client.count("S") == 150)
    }

    @Test func `a message that is too large is rejected alone`() throws {
        let servers = try NATSServers(more: "max_payload: 4096")
        let client = try NATSClient(servers)
        try client.create("S", "e.*", maximumMessageSize: 2048)
        let stage = try open(servers, #""subject":"e.{event}""#)
        func event(_ size: Int) -> String { #"{"event":"x","text":"\#(String(repeating: "x", count: size))"}"# }
        let results = try #require(
            outcomes(
                stage,
                [
                    (1, .track, event(10)), (2, .track, event(5000)), (3, .track, event(2100)), (4, .track, event(10)),
                    (5, .track, #"{"event":"\#(String(repeating: "e", count: 1100))"}"#), (6, .track, event(10)),
                ]))
        #expect(
            results == [
                .delivered,
                .rejected(reason: "its message has more than 4096 bytes, the server's max_payload"),
                .rejected(reason: "JetStream: message size exceeds maximum allowed (err_code 10054)"),
                .delivered, .rejected(reason: "its subject has more than 1024 bytes"), .delivered,
            ])
        #expect(try client.messages("S").map(\.position) == [1, 4, 6])
    }

    @Test func `events that no stream captures are retried`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        let stage = try open(servers, #""subject":"e""#)
        let reason = "no stream captures the subject, or its leader is not available (no responders)"
        #expect(outcomes(stage, [(1, .track, "{}")]) == [.retry(reason: reason)])
        try client.create("S", "e")
        #expect(outcomes(stage, [(1, .track, "{}")]) == [.delivered])
    }

    @Test func `events are retried while the stream is full`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        try client.create("S", "e", maximumMessages: 2)
        let stage = try open(servers, #""subject":"e""#)
        let events = (1...3).map { (UInt64($0), EventKind.track, "{}") }
        let full = Outcome.retry(reason: "JetStream: maximum messages exceeded (err_code 10077)")
        #expect(outcomes(stage, events) == [.delivered, .delivered, full])
        client.purge("S")
        #expect(outcomes(stage, [events[2]]) == [.delivered])
    }

    @Test func `a stream is created as the settings say, and never changed`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        let create = #""subject":"e.{kind}.x-{event}","stream":"NEW","create":true"#
        let more = #","storage":"memory","max_age":"1h","max_bytes":1000000,"duplicate_window":"30s""#
        try open(servers, create + more).destination.close()
        func check() throws {
            let stream = try client.stream("NEW")
            #expect(stream.subject == "e.*.*")
            #expect(stream.isInMemory)
            #expect(stream.maximumAge == 3_600_000_000_000)
            #expect(stream.maximumBytes == 1_000_000)
            #expect(stream.duplicateWindow == 30_000_000_000)
        }
        try check()
        try open(servers, create).destination.close()
        try check()
    }

    @Test func `a stream that is missing or captures other subjects is an error when connecting`() throws {
        let servers = try NATSServers()
        let client = try NATSClient(servers)
        #expect(
            try error(servers, #""subject":"e","stream":"S""#)
                == "the plugin nats cannot connect: the stream S does not exist: create it, or set settings.create: true"
        )
        try client.create("S", "other.*")
        #expect(
            try error(servers, #""subject":"e.{kind}","stream":"S""#)
                == "the plugin nats cannot connect: the stream S captures other.*, not e.*: "
                + "add e.* to its subjects, or change settings.subject")
    }

    @Test(arguments: [
        (
            #""servers":["nats://h"],"subject":"{event}""#,
            "settings.subject: \"{event}\" must begin with fixed text or {kind}"
        ),
        (#""servers":["nats://h"],"subject":"a..b""#, "settings.subject: \"a..b\" has an empty token"),
        (#""servers":["nats://h"],"subject":"a.*""#, "settings.subject: \"a.*\" has a character"),
        (#""servers":["nats://h"],"subject":"a.{b""#, "settings.subject: \"a.{b\" has a { without a }"),
        (#""servers":["nats://h"],"subject":"a.{b..c}""#, "has {b..c}, which is not the path of a field"),
        (#""servers":[],"subject":"a""#, "settings.servers: must name"),
        (#""servers":["nats://a,nats://b"],"subject":"a""#, "settings.servers: \"nats://a,nats://b\" is not one URL"),
        (#""servers":["nats://h"],"subject":"a","username":"u""#, "settings.password: is missing"),
        (#""servers":["nats://h"],"subject":"a","tls_key":"/k""#, "settings.tls_certificate: is missing"),
        (#""servers":["nats://h"],"subject":"a","timeout":"5""#, "settings.timeout: \"5\" is not a duration"),
        (
            #""servers":["nats://h"],"subject":"a","timeout":"0s""#,
            "settings.timeout: is 0s, but must be between 100ms and 10m"
        ),
        (#""servers":["nats://h"],"subject":"a","create":true"#, "settings.stream: is missing"),
        (#""servers":["nats://h"],"subject":"a","replicas":3"#, "settings.create: is not true"),
        (#""servers":["nats://h"],"subject":"a","stream":"a.b""#, "settings.stream: \"a.b\" is not a name"),
    ])
    func `settings that are not valid are named`(settings: String, words: String) throws {
        let stage = try PluginStage("nats", in: directory, settings: "{\(settings)}")
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}
