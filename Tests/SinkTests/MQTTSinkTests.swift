import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import TestSupport
import Testing

/// The mqtt plugin as it ships, loaded by the host, with a real broker.
@Suite struct MQTTSinkTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libmqtt.so")
    }

    private func stage(
        _ broker: MosquittoBroker, _ more: String = "", topic: String = "events", address: String? = nil
    ) throws -> PluginStage {
        try PluginStage(
            "mqtt", in: directory,
            settings: #"{"address":"\#(address ?? broker.address)","topic":"\#(topic)"\#(more)}"#)
    }

    private func open(
        _ broker: MosquittoBroker, _ more: String = "", topic: String = "events"
    ) throws -> PluginStage {
        let stage = try stage(broker, more, topic: topic)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    private func error(_ stage: PluginStage) -> String {
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        return error?.description ?? "none"
    }

    private func deliver(_ positions: [UInt64], to stage: PluginStage) -> Bool {
        pluginEventually {
            stage.outcomes(stage.offer(positions), count: positions.count)?.allSatisfy { $0 == .delivered } == true
        }
    }

    private func reason(_ outcome: Outcome?) -> String {
        switch outcome {
        case .retry(let reason, after: _, answer: _): "retry: \(reason)"
        case .rejected(let reason, answer: _): "rejected: \(reason)"
        default: "\(String(describing: outcome))"
        }
    }

    @Test func `an event becomes a message with its id as properties`() throws {
        let broker = try MosquittoBroker()
        let subscriber = try MQTTSubscriber(broker)
        let stage = try open(broker)
        let json = #"{"event":"Müll\u0000","messageId":"m-\u0031","n":18446744073709551615}"#
        var batch = PluginStage.batch([(.max - 1, .track, json)])
        batch.events[0].part = .max
        #expect(stage.outcomes(stage.offer(batch), count: 1) == [.delivered])
        #expect(
            subscriber.messages(1) == [
                MQTTSubscriber.Message(
                    topic: "events", payload: json, retained: false,
                    properties: [
                        "position": "18446744073709551614", "part": "4294967295", "message_id": "m-1", "kind": "track",
                        "content-type": "application/json",
                    ])
            ])
        #expect(stage.destination.metrics.counters["mqtt_messages"] == 1)
    }

    @Test func `any JSON value is a payload, and a message id that MQTT forbids keeps its escapes`() throws {
        let broker = try MosquittoBroker()
        let subscriber = try MQTTSubscriber(broker)
        let stage = try open(broker)
        let large = #"{"event":"\#(String(repeating: "x", count: 4 << 20))"}"#
        let values = ["{}", "[]", "null", "12", #""text""#, #"{"messageId":"a\u0000"}"#, #"{"messageId":"\n"}"#, large]
        let batch = PluginStage.batch(values.enumerated().map { (UInt64($0), .identify, $1) })
        #expect(stage.outcomes(stage.offer(batch), count: 8) == Array(repeating: .delivered, count: 8))
        let messages = subscriber.messages(8)
        // Not compared whole: a failure would print the large one.
        #expect(messages.prefix(7).map(\.payload) == Array(values.prefix(7)))
        #expect(messages.last?.payload.utf8.count == large.utf8.count)
        #expect(
            messages.map { $0.properties["message_id"] } == [nil, nil, nil, nil, nil, #"a\u0000"#, #"\n"#, nil])
    }

    @Test func `a topic has fields of the event, encoded`() throws {
        let broker = try MosquittoBroker()
        let subscriber = try MQTTSubscriber(broker)
        let stage = try open(broker, topic: "a/{kind}/{event}/{properties.plan|free}")
        let names = [#"Order Completed"#, #"a/b+c#d%$"#, #"\u0000\n\u007f\uffff"#, "Müll 🚮"]
        let batch = PluginStage.batch(
            names.enumerated().map { (UInt64($0), .track, #"{"event":"\#($1)"}"#) } + [(4, .page, "[1]")])
        #expect(stage.outcomes(stage.offer(batch), count: 5) == Array(repeating: .delivered, count: 5))
        #expect(
            subscriber.messages(5).map(\.topic) == [
                "a/track/Order Completed/free", "a/track/a%2Fb%2Bc%23d%25%24/free",
                "a/track/%00%0A%7F%EF%BF%BF/free", "a/track/Müll 🚮/free", "a/page/none/free",
            ])
    }

    @Test(arguments: [1, 7, 65535]) func `events arrive once and in order, whatever the window`(window: Int) throws {
        let broker = try MosquittoBroker("allow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 0")
        let subscriber = try MQTTSubscriber(broker)
        let stage = try open(broker, #","window":\#(window)"#)
        for batch: UInt64 in 0..<3 {
            let positions = Array(batch * 1000..<(batch + 1) * 1000)
            #expect(stage.outcomes(stage.offer(positions), count: 1000)?.allSatisfy { $0 == .delivered } == true)
        }
        #expect(subscriber.messages(3000).compactMap(\.position) == Array(0..<3000))
    }

    @Test func `the broker retains the last event of each topic`() throws {
        let broker = try MosquittoBroker()
        let stage = try open(broker, #","retain":true"#, topic: "user/{userId}")
        let batch = PluginStage.batch(
            ["a", "b", "a"].enumerated().map { (UInt64($0), .identify, #"{"userId":"\#($1)"}"#) })
        #expect(stage.outcomes(stage.offer(batch), count: 3) == [.delivered, .delivered, .delivered])
        let messages = try MQTTSubscriber(broker).messages(2)
        #expect(
            messages.sorted { $0.topic < $1.topic }.map { "\($0.topic) \($0.position ?? 99)" } == [
                "user/a 2", "user/b 1",
            ])
        #expect(messages.map(\.retained) == [true, true])
    }

    @Test func `a broker that does not run at the start is waited for`() throws {
        let broker = try MosquittoBroker()
        broker.kill()
        let stage = try stage(broker)
        #expect(error(stage) == "the plugin mqtt cannot connect: mqtt at \(broker.address): Connection refused")
        try broker.start()
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(deliver([1], to: stage))
    }

    @Test func `a connection that ended between batches is opened again without a retry`() throws {
        let broker = try MosquittoBroker()
        let stage = try open(broker)
        #expect(deliver([1], to: stage))
        broker.kill()
        try broker.start()
        let subscriber = try MQTTSubscriber(broker)
        #expect(deliver([2], to: stage))
        #expect(subscriber.messages(1).compactMap(\.position) == [2])
    }

    @Test func `events without an acknowledgement are offered again when the broker is killed`() throws {
        let broker = try MosquittoBroker("allow_anonymous true\nmax_queued_messages 0")
        let stage = try open(broker, #","window":1"#)
        var subscriber: MQTTSubscriber? = try MQTTSubscriber(broker)
        let seen = try #require(subscriber)
        let killing = Thread {
            _ = seen.messages(1300)
            broker.kill()
        }
        killing.start()
        var next: UInt64 = 0
        var rest: [UInt64] = []
        while rest.isEmpty, next < 200_000 {
            let positions = Array(next..<next + 1000)
            let outcomes = try #require(stage.outcomes(stage.offer(positions), count: 1000))
            let delivered = outcomes.prefix { $0 == .delivered }.count
            rest = Array(positions[delivered...])
            // Nothing after the first missing acknowledgement is delivered.
            #expect(outcomes[delivered...].allSatisfy { reason($0).hasPrefix("retry: mqtt at \(broker.address): ") })
            next += 1000
        }
        #expect(pluginEventually { killing.isFinished })
        subscriber = nil
        try broker.start()
        let again = try MQTTSubscriber(broker)
        #expect(deliver(rest, to: stage))
        #expect(again.messages(rest.count).compactMap(\.position) == rest)
    }

    @Test func `a broker that hangs is given up after the timeout`() throws {
        let broker = try MosquittoBroker()
        let stage = try open(broker, #","timeout":"3s""#)
        try broker.suspend()
        let outcome = stage.outcomes(stage.offer([1]), count: 1)?.first
        #expect(
            reason(outcome)
                == "retry: mqtt at \(broker.address): the broker sent no acknowledgement within settings.timeout")
        #expect(
            error(try self.stage(broker, #","timeout":"2s""#)).contains("did not answer within settings.timeout"))
        broker.signal(SIGCONT)
        #expect(deliver([1], to: stage))
    }

    @Test(arguments: ["max_packet_size 2000", "message_size_limit 1000"])
    func `an event above the broker's limit is rejected alone`(limit: String) throws {
        let broker = try MosquittoBroker("allow_anonymous true\n\(limit)")
        let subscriber = try MQTTSubscriber(broker)
        let stage = try open(broker)
        let large = #"{"event":"\#(String(repeating: "x", count: 3000))"}"#
        let batch = PluginStage.batch([(0, .track, "{}"), (1, .track, large), (2, .track, "{}")])
        let outcomes = try #require(stage.outcomes(stage.offer(batch), count: 3))
        #expect(outcomes[0] == .delivered && outcomes[2] == .delivered)
        #expect(reason(outcomes[1]).hasPrefix("rejected: "), "\(outcomes)")
        #expect(subscriber.messages(2).compactMap(\.position) == [0, 2])
    }

    /// mosquitto refuses such a message with its acknowledgement.
    @Test func `a broker that disconnects because of a large event does not stop delivery`() throws {
        let broker = try DisconnectingBroker(in: directory)
        let stage = try PluginStage(
            "mqtt", in: directory, settings: #"{"address":"127.0.0.1:\#(broker.port)","topic":"e"}"#)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        let large = #"{"event":"\#(String(repeating: "x", count: 3000))"}"#
        var batch = PluginStage.batch((0..<5).map { ($0, .track, $0 == 2 ? large : "{}") })
        var rejected: [UInt64: String] = [:]
        // As the worker does: what is to be retried is offered again.
        #expect(
            pluginEventually {
                let outcomes = stage.outcomes(stage.offer(batch), count: batch.events.count) ?? []
                for (event, outcome) in zip(batch.events, outcomes) {
                    if case .rejected(let reason, answer: _) = outcome { rejected[event.position] = reason }
                }
                let settled = zip(batch.events, outcomes).filter { !reason($1).hasPrefix("retry") }.map(\.0.position)
                batch.events.removeAll { settled.contains($0.position) }
                return batch.events.isEmpty
            })
        #expect(rejected.keys.sorted() == [2])
        #expect(rejected[2] == "Packet too large (reason code 149)")
    }

    @Test func `a fixed topic that the user may not write to is retried, and one of the event rejects it`() throws {
        let files = try PluginTestDirectory()
        try files.add("acl", Data("user app\ntopic write a/#\n".utf8))
        let (status, _) = try TestCompiler.run([
            "mosquitto_passwd", "-b", "-c", "\(files.path)/passwords", "app", "secret",
        ])
        #expect(status == 0)
        let broker = try MosquittoBroker(
            "allow_anonymous false\npassword_file DIRECTORY/passwords\nacl_file DIRECTORY/acl", in: files)
        #expect(error(try stage(broker)).contains("Not authorized: check settings.username"))
        #expect(error(try stage(broker, #","username":"app","password":"wrong""#)).contains("settings.password"))
        let login = #","username":"app","password":"secret""#
        let fixed = try open(broker, login, topic: "b/x")
        let refusal = fixed.outcomes(fixed.offer([1]), count: 1)?.first
        #expect(reason(refusal).hasPrefix("retry: mqtt at \(broker.address): Not authorized"))
        let stage = try open(broker, login, topic: "{userId}/x")
        let batch = PluginStage.batch(
            ["a", "b", "a"].enumerated().map { (UInt64($0), .identify, #"{"userId":"\#($1)"}"#) })
        let outcomes = try #require(stage.outcomes(stage.offer(batch), count: 3))
        #expect(outcomes[0] == .delivered && outcomes[2] == .delivered)
        #expect(reason(outcomes[1]).hasPrefix("rejected: Not authorized"))
    }

    @Test func `a topic that is too long is rejected alone`() throws {
        let broker = try MosquittoBroker()
        let stage = try open(broker, topic: "x/{event}")
        let batch = PluginStage.batch([
            (0, .track, #"{"event":"\#(String(repeating: "x", count: 65533))"}"#),
            (1, .track, #"{"event":"\#(String(repeating: "x", count: 65534))"}"#),
        ])
        let outcomes = try #require(stage.outcomes(stage.offer(batch), count: 2))
        #expect(outcomes[0] == .delivered)
        #expect(reason(outcomes[1]) == "rejected: its topic has 65536 bytes, and MQTT allows 65535")
    }

    @Test func `TLS trusts the given certificate and no other`() throws {
        let files = try PluginTestDirectory()
        try OpenSSLServer.makeCertificate(in: files.path)
        let broker = try MosquittoBroker(
            "allow_anonymous true\ncertfile DIRECTORY/cert.pem\nkeyfile DIRECTORY/key.pem", in: files)
        let stage = try open(broker, #","tls":true,"tls_ca":"\#(files.path)/cert.pem""#)
        #expect(deliver([1], to: stage))
        #expect(error(try self.stage(broker, #","tls":true"#)).hasPrefix("the plugin mqtt cannot connect: mqtt at "))
        #expect(
            error(try self.stage(broker, #","tls":true,"tls_ca":"\#(files.path)/none.pem""#)).contains(
                "settings.tls_ca"))
        // A client that doesn't speak TLS gets no answer from this broker.
        #expect(error(try self.stage(broker, #","timeout":"1s""#)).contains("mqtt at "))
    }

    @Test func `two destinations with the same client id both deliver`() throws {
        let broker = try MosquittoBroker()
        let one = try open(broker, #","client_id":"same""#)
        let other = try open(broker, #","client_id":"same""#)
        // Each takes the connection over, and delivers on its own.
        #expect(deliver([1], to: one))
        #expect(deliver([2], to: other))
    }

    @Test(arguments: [
        (#"{"address":"localhost","topic":"e"}"#, #"settings.address: "localhost" must be HOST:PORT"#),
        (#"{"address":"h:99999","topic":"e"}"#, "settings.address"),
        (#"{"address":"h:1","topic":"a/+"}"#, "settings.topic: must not contain +"),
        (#"{"address":"h:1","topic":"a/#"}"#, "settings.topic: must not contain +"),
        (#"{"address":"h:1","topic":"a\nb"}"#, "settings.topic: must not contain control characters"),
        (#"{"address":"h:1","topic":"e","client_id":"a\u0000"}"#, "settings.client_id: must not contain control"),
        (#"{"address":"h:1","topic":"a/{event"}"#, #"settings.topic: "a/{event" has a { without a }"#),
        (#"{"address":"h:1","topic":"e","password":"p"}"#, "settings.password: needs a username"),
        (#"{"address":"h:1","topic":"e","tls":false,"tls_ca":"/x"}"#, "settings.tls: is false, but tls_ca"),
        (#"{"address":"h:1","topic":"e","tls_key":"/x"}"#, "settings.tls_certificate: is missing"),
        (#"{"address":"h:1","topic":"e","window":0}"#, "settings.window"),
        (
            #"{"address":"h:1","topic":"e","keepalive":"1s"}"#,
            "settings.keepalive: is 1s, but must be between 5s and 65535s"
        ),
        (#"{"topic":"e"}"#, "settings.address"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        let text = error(try PluginStage("mqtt", in: directory, settings: settings))
        #expect(text.contains(words), "\(text)")
    }
}
