import CKafka
import Delivery
import Destinations
import Events
import Foundation
import PluginHosting
import PluginTesting
import Testing

/// Batches from edges to aggregators: the kafka plugin as a sink with `format: penstock`, and as a source.
@Suite struct KafkaFleetTests {
    private static let edge = "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7a"
    private let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libkafka.so")
    }

    private func sink(_ kafka: MockKafka, _ more: String = "", journal: String = edge) throws -> PluginStage {
        let settings = #"{"brokers":\#(kafka.brokers),"topic":"events","format":"penstock"\#(more)}"#
        let stage = try PluginStage("kafka", in: directory, settings: settings, journal: journal)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        return stage
    }

    private static func event(_ number: UInt64) -> String { #"{"userId":"u\#(number % 10)","n":\#(number)}"# }

    private func deliver(_ stage: PluginStage, _ positions: Range<UInt64>, batch: Int = 200) throws {
        let result = try SinkDriver(stage: stage, batch: batch, inFlight: 1, event: Self.event).deliver(positions)
        #expect(result.delivered.count == positions.count, "\(result.reasons) \(result.rejected)")
    }

    /// Each event once, and each user's events in one lane and in order.
    private func expectOnce(_ journal: LaneJournal, _ positions: Range<UInt64>) throws {
        let events = try journal.now.events.map { lane, text in
            let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            return (lane: lane, user: json["userId"] as? String ?? "", number: json["n"] as? UInt64 ?? 0)
        }
        #expect(events.map(\.number).sorted() == Array(positions))
        for user in Set(events.map(\.user)) {
            let own = events.filter { $0.user == user }
            #expect(Set(own.map(\.lane)).count == 1 && own.map(\.number) == own.map(\.number).sorted())
        }
    }

    @Test func `events come once and in order for each user, in few messages`() throws {
        let group = try KafkaSourceGroup()
        let sink = try sink(group.kafka)
        try deliver(sink, 0..<3000, batch: 1000)
        let messages = try group.kafka.messages(["events": 4])
        #expect(messages.count <= 12)
        for message in messages {
            #expect(message.headers["penstock-edge"] == Self.edge && message.headers["penstock-format"] == "1")
        }
        let journal = LaneJournal()
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count == 3000 })
        try deliver(sink, 3000..<5000, batch: 1000)
        #expect(KafkaSourceGroup.eventually { journal.count == 5000 })
        try expectOnce(journal, 0..<5000)
        #expect(stage.problem == nil && stage.violations.isEmpty)
    }

    @Test func `what an edge sends again is left out, however it is divided, and another edge's events are not`() throws
    {
        let group = try KafkaSourceGroup()
        let journal = LaneJournal()
        let stage = try group.member(journal)
        for (round, batch) in [100, 70, 333].enumerated() {
            let sink = try sink(group.kafka)
            try deliver(sink, 0..<UInt64(1000 * (round + 1)), batch: batch)
            sink.destination.close()
            #expect(KafkaSourceGroup.eventually { journal.count == 1000 * (round + 1) })
        }
        try deliver(try sink(group.kafka, journal: UUID().uuidString), 3000..<3500)
        #expect(KafkaSourceGroup.eventually { journal.count == 3500 })
        try expectOnce(journal, 0..<3500)
        #expect(journal.now.repeated >= 1000 && stage.failure == nil)
    }

    @Test func `errors of the brokers neither lose nor repeat nor reorder an event`() throws {
        let group = try KafkaSourceGroup()
        let journal = LaneJournal()
        let stage = try group.member(journal)
        let sink = try sink(group.kafka, #","timeout":"3s""#)
        var faults = 0
        let driver = SinkDriver(stage: sink, batch: 100, inFlight: 1, event: Self.event)
        let result = try driver.deliver(0..<2000) { result in
            guard faults < 6, result.delivered.count > 250 * (faults + 1) else { return }
            faults += 1
            group.kafka.fail(
                faults % 2 == 0
                    ? [RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION] : [RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT])
        }
        #expect(result.delivered.count == 2000 && faults == 6)
        #expect(KafkaSourceGroup.eventually { journal.count == 2000 })
        try expectOnce(journal, 0..<2000)
        #expect(stage.failure == nil)
    }

    @Test func `an aggregator that is killed inside a message stores everything once`() throws {
        let group = try KafkaSourceGroup()
        try deliver(try sink(group.kafka), 0..<6000, batch: 6000)
        let journal = LaneJournal()
        for round in 1...4 {
            let stage = try group.member(journal) {
                $0.maxOfferEvents = 30
                $0.window = 5000
            }
            #expect(KafkaSourceGroup.eventually { journal.count >= round * 300 })
            stage.crash()
        }
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count >= 6000 })
        try expectOnce(journal, 0..<6000)
        #expect(stage.failure == nil)
    }

    /// A broker that refuses a message of many events gets smaller ones.
    @Test func `a batch that is too large for the topic is divided`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 1)
        let sink = try sink(kafka)
        kafka.fail([RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE])
        try deliver(sink, 0..<100, batch: 100)
        #expect(!(try kafka.messages(["events": 1])).isEmpty)
    }

    @Test(arguments: [
        (#""topic":"t-{kind}","format":"penstock""#, "it has no placeholders"),
        (#""topic":"t","format":"penstock","key":"userId""#, "settings.key: has no effect"),
        (#""topic":"t","format":"penstock","compression":"zstd""#, "settings.compression: has no effect"),
        (#""topic":"t","compression_level":3"#, "settings.compression_level: has no effect"),
        (#""topic":"t","format":"penstock","compression_level":-8"#, "compression_level"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        let stage = try PluginStage(
            "kafka", in: directory, settings: #"{"brokers":["127.0.0.1:1"],\#(settings)}"#, journal: Self.edge)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }
}
