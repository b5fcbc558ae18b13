import CKafka
import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// The kafka plugin as it ships, loaded by the host, with librdkafka's mock brokers.
@Suite struct KafkaSinkTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libkafka.so")
    }

    private func open(_ kafka: MockKafka, _ more: String) throws -> PluginStage {
        let stage = try PluginStage(
            "kafka", in: directory, settings: #"{"brokers":\#(kafka.brokers),\#(more)}"#, journal: "j1")
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    /// Waits for the outcomes of a batch.
    private func outcomes(_ stage: PluginStage, _ events: [(UInt64, EventKind, String)]) -> [Outcome]? {
        let batch = stage.offer(PluginStage.batch(events))
        _ = pluginEventually { !stage.answers(batch).isEmpty }
        return stage.outcomes(batch, count: events.count)
    }

    @Test func `an event becomes a message with its key, its payload and its headers`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 1)
        let stage = try open(kafka, #""topic":"events""#)
        let events: [(UInt64, EventKind, String)] = [
            (41, .track, #"{"userId":"u\u0000-\u00fc","anonymousId":"a","messageId":"m-\u0031"}"#),
            (42, .identify, #"{"anonymousId":"a2"}"#), (43, .page, #"{"userId":"","anonymousId":null}"#),
            (44, .track, #"{"userId":18446744073709551615}"#),
        ]
        #expect(outcomes(stage, events) == Array(repeating: .delivered, count: 4))
        let messages = try kafka.messages(["events": 1])
        #expect(messages.map(\.value) == events.map(\.2))
        #expect(messages.map(\.keyText) == ["u\0-ü", "a2", nil, "18446744073709551615"])
        #expect(
            messages.map(\.headers) == [
                ["position": "j1:41:0", "kind": "track", "messageId": "m-1"],
                ["position": "j1:42:0", "kind": "identify"], ["position": "j1:43:0", "kind": "page"],
                ["position": "j1:44:0", "kind": "track"],
            ])
    }

    @Test(arguments: [
        (#"{"event":"Order Completed/ü"}"#, "t-track.Order_Completed___"), (#"{"event":"a.b-c_1"}"#, "t-track.a.b-c_1"),
        ("{}", "t-track.none"), ("[1]", "t-track.none"), ("null", "t-track.none"), (#""""#, "t-track.none"),
        ("-9223372036854775808", "t-track.none"),
    ])
    func `a template makes the topic, whatever the event contains`(json: String, topic: String) throws {
        let kafka = try MockKafka()
        kafka.create(topic, partitions: 1)
        let stage = try open(kafka, #""topic":"t-{kind}.{event}","key":"""#)
        #expect(outcomes(stage, [(1, .track, json)]) == [.delivered])
        let messages = try kafka.messages([topic: 1])
        #expect(messages.map(\.value) == [json])
        #expect(messages.map(\.key) == [nil])
    }

    @Test func `messages with the same key are in one partition, in order`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 8)
        let stage = try open(kafka, #""topic":"events","key":"$.properties.account","compression":"zstd""#)
        let driver = SinkDriver(stage: stage, inFlight: 8) { #"{"properties":{"account":"k\#($0 % 50)"}}"# }
        #expect(try driver.deliver(0..<5000).delivered.count == 5000)
        let messages = try kafka.messages(["events": 8])
        #expect(messages.count == 5000)
        checkOrder(messages)
        #expect(Set(messages.map(\.partition)).count > 4)
        // What the Java client computes: murmur2("k0") modulo 8, and so on.
        #expect(Dictionary(grouping: messages, by: \.keyText).values.allSatisfy { Set($0.map(\.partition)).count == 1 })
    }

    @Test func `a message that is too large is rejected alone`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 1)
        let stage = try open(kafka, #""topic":"events","properties":{"message.max.bytes":20000}"#)
        let large = #"{"text":"\#(String(repeating: "x", count: 30_000))"}"#
        let name = #"{"event":"\#(String(repeating: "e", count: 300))"}"#
        #expect(
            outcomes(stage, [(1, .track, "{}"), (2, .track, large), (3, .track, "{}")]) == [
                .delivered, .rejected(reason: "its message is larger than message.max.bytes of settings.properties"),
                .delivered,
            ])
        #expect(try kafka.messages(["events": 1]).map(\.position) == [1, 3])
        let named = try open(kafka, #""topic":"e.{event}""#)
        #expect(
            outcomes(named, [(1, .track, name)]) == [.rejected(reason: "its topic has more than 249 bytes")])
    }

    @Test func `a request that a broker refuses as too large is divided, and only the large message is rejected`()
        throws
    {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 1)
        let stage = try open(kafka, #""topic":"events""#)
        // The request, and then one of the messages alone.
        kafka.fail([
            RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
        ])
        let result = try SinkDriver(stage: stage, batch: 10, inFlight: 1).deliver(0..<10)
        #expect(result.delivered == Set(0..<10).subtracting([1]))
        #expect(
            result.rejected == [
                1: "a broker refuses it: Broker: Message size too large (MSG_SIZE_TOO_LARGE)"
            ])
        #expect(try kafka.messages(["events": 1]).map(\.position) == [0] + (2..<10).map { $0 })
    }

    @Test func `a topic that is missing is an error when connecting`() throws {
        let kafka = try MockKafka()
        let stage = try PluginStage(
            "kafka", in: directory,
            settings: #"{"brokers":\#(kafka.brokers),"topic":"none","connect_timeout":"500ms"}"#)
        kafka.setTopicError("none", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        let words = "the topic none does not exist: create it, or change settings.topic"
        #expect(error?.description.hasSuffix(words) == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        (#""brokers":[],"topic":"t""#, "settings.brokers: must name"),
        (#""brokers":["a:1,b:2"],"topic":"t""#, "settings.brokers: \"a:1,b:2\" is not one address"),
        (#""brokers":["h"],"topic":"a b""#, "settings.topic: \"a b\" may only have the characters"),
        (#""brokers":["h"],"topic":"..""#, "settings.topic: \"..\" is not a name of a topic"),
        (#""brokers":["h"],"topic":"{event}""#, "settings.topic: \"{event}\" must begin with fixed text or {kind}"),
        (#""brokers":["h"],"topic":"t","key":"a..b""#, "settings.key: \"a..b\" is not the path"),
        (#""brokers":["h"],"topic":"t","timeout":"1h""#, "settings.timeout: is 1h, but must be between 1s and 10m"),
        (#""brokers":["h"],"topic":"t","tls":false,"tls_ca":"/x""#, "settings.tls: is false"),
        (#""brokers":["h"],"topic":"t","tls_ca":"/nonexistent.pem""#, "ssl.ca.location"),
        (#""brokers":["h"],"topic":"t","properties":{"linger":5}"#, "settings.properties.linger: No such"),
        (#""brokers":["h"],"topic":"t","properties":{"linger.ms":"x"}"#, "settings.properties.linger.ms: Invalid"),
        (#""brokers":["h"],"topic":"t","properties":{"linger.ms":[]}"#, "settings.properties.linger.ms: is not a str"),
        (
            #""brokers":["h"],"topic":"t","properties":{"acks":1}"#,
            "settings.properties.acks: would change the delivery"
        ),
        (#""brokers":["h"],"topic":"t","properties":{"plugin.library.paths":"x"}"#, "would load code"),
        (
            #""brokers":["h"],"topic":"t","properties":{"max.in.flight":9}"#,
            "settings: `max.in.flight` must be set <= 5"
        ),
        (#""brokers":["h"],"topic":"t","properties":{"compression.type":"gzip"}"#, "is set by settings.compression"),
    ])
    func `settings that are not valid are named`(settings: String, words: String) throws {
        let stage = try PluginStage("kafka", in: directory, settings: "{\(settings)}")
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}

/// Checks that the first copies of the messages of each key are in the journal's order.
func checkOrder(_ messages: [MockKafka.Message]) {
    for (key, messages) in Dictionary(grouping: messages, by: \.keyText) {
        var seen: Set<UInt64> = []
        let first = messages.compactMap(\.position).filter { seen.insert($0).inserted }
        #expect(first == first.sorted(), "the key \(key ?? "-")")
    }
}
