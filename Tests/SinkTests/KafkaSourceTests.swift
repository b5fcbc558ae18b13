import CKafka
import Foundation
import PluginTesting
import Testing

/// The kafka plugin's source, with librdkafka's mock brokers.
@Suite struct KafkaSourceTests {
    @Test func `each partition's events arrive in order, once, and are committed when they are durable`() throws {
        let group = try KafkaSourceGroup()
        try group.append(0..<2000)
        let journal = LaneJournal()
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count == 8000 })
        #expect(stage.openLanes == ["events/0", "events/1", "events/2", "events/3"])
        for partition in 0..<Int32(4) {
            #expect(journal.now.texts("events/\(partition)") == group.expected(partition, 0..<2000))
            #expect(journal.position("events/\(partition)") == "2000")
            #expect(try KafkaSourceGroup.eventually { try group.kafka.committed("g", "events", partition) == 2000 })
        }
        try group.append(2000..<2100)
        #expect(KafkaSourceGroup.eventually { journal.count == 8400 })
        #expect(stage.problem == nil && stage.failure == nil)
        #expect(stage.counters["kafka_messages"] == 8400)
        stage.close()
        #expect(stage.openLanes.isEmpty && stage.violations.isEmpty)
        #expect(try group.kafka.committed("g", "events", 3) == 2100)
    }

    @Test func `nothing is committed before it is durable`() throws {
        let group = try KafkaSourceGroup(partitions: 1)
        try group.append(0..<100, partitions: 1)
        let journal = LaneJournal()
        let stage = try group.member(journal)
        stage.hold()
        #expect(KafkaSourceGroup.eventually { stage.offerCount > 0 })
        usleep(300_000)
        #expect(try group.kafka.committed("g", "events") == nil)
        stage.release()
        #expect(try KafkaSourceGroup.eventually { try group.kafka.committed("g", "events") == 100 })
    }

    @Test func `an instance that is killed and started again continues at the journal's positions`() throws {
        let group = try KafkaSourceGroup()
        try group.append(0..<5000)
        let journal = LaneJournal()
        for _ in 0..<3 {
            let stage = try group.member(journal) {
                $0.maxOfferEvents = 20
                $0.window = 2000
            }
            let count = journal.count
            #expect(KafkaSourceGroup.eventually { journal.count > count + 1000 })
            stage.crash()
            #expect(stage.violations.isEmpty && stage.failure == nil)
        }
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count >= 20_000 })
        stage.close()
        #expect(journal.count == 20_000)
        for partition in 0..<Int32(4) {
            #expect(journal.now.texts("events/\(partition)") == group.expected(partition, 0..<5000))
        }
    }

    @Test func `reading begins at the journal's position or at the group's, whichever is later`() throws {
        let group = try KafkaSourceGroup()
        try group.append(0..<100)
        try group.kafka.commit(10, "g", "events", 0)
        try group.kafka.commit(60, "g", "events", 1)
        try group.kafka.commit(70, "g", "events", 3)
        let journal = LaneJournal(["events/0": "40", "events/1": "20", "events/2": "50", "elsewhere/0": "7"])
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count == 60 + 40 + 50 + 30 })
        for (partition, first) in [(0, 40), (1, 60), (2, 50), (3, 70)] as [(Int32, Int)] {
            #expect(journal.now.texts("events/\(partition)") == group.expected(partition, first..<100))
        }
        // The group's offset follows the journal's, too.
        #expect(try KafkaSourceGroup.eventually { try group.kafka.committed("g", "events", 0) == 100 })
        #expect(journal.position("elsewhere/0") == "7")
        stage.close()
    }

    @Test func `with latest, a new partition begins at its end, which is its position from then on`() throws {
        let group = try KafkaSourceGroup(partitions: 1)
        try group.append(0..<50, partitions: 1)
        let journal = LaneJournal()
        let stage = try group.member(journal, #","start":"latest""#)
        #expect(KafkaSourceGroup.eventually { journal.position("events/0") == "50" })
        stage.crash()
        try group.append(50..<60, partitions: 1)
        let next = try group.member(journal, #","start":"latest""#)
        #expect(KafkaSourceGroup.eventually { journal.count == 10 })
        #expect(journal.texts == group.expected(0, 50..<60))
        next.close()
    }

    @Test func `tombstones move the position, and what is no event is refused with its offset in the log`() throws {
        let group = try KafkaSourceGroup(partitions: 1)
        let journal = LaneJournal()
        try group.kafka.append([nil, nil, "{}", nil, "text", "", "{\n}", nil, nil], to: "events")
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.position("events/0") == "9" })
        #expect(journal.texts == ["{}", "{\n}"])
        #expect(journal.now.refusals.count == 2)
        #expect(
            KafkaSourceGroup.eventually { stage.log.contains { $0.contains("is no event") && $0.contains("offset=4") } }
        )
        #expect(stage.counters["kafka_tombstones"] == 5)
        #expect(try KafkaSourceGroup.eventually { try group.kafka.committed("g", "events") == 9 })
        stage.close()
    }

    @Test func `the position of a topic with a long name has a short name that stays the same`() throws {
        let topic = String(repeating: "long.", count: 49) + "name"
        let group = try KafkaSourceGroup(topic, partitions: 1)
        try group.append(0..<10, partitions: 1)
        let journal = LaneJournal()
        let stage = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count == 10 })
        let name = try #require(journal.now.lanes.keys.first)
        #expect(name == "long.long.long.long.long.long.long.long.long.~08b76ddc12135bc4/0")
        #expect(name.utf8.count == 64)
        stage.crash()
        try group.append(10..<20, partitions: 1)
        let next = try group.member(journal)
        #expect(KafkaSourceGroup.eventually { journal.count >= 20 })
        #expect(journal.texts == group.expected(0, 0..<20))
        next.close()
    }

    @Test func `large messages are offered alone`() throws {
        let group = try KafkaSourceGroup(partitions: 1)
        let large = (0..<8).map { #"{"n":\#($0),"x":"\#(String(repeating: "x", count: $0 * 100_000))"}"# }
        try group.kafka.append(large, to: "events")
        let journal = LaneJournal()
        let stage = try group.member(journal) { $0.maxOfferBytes = 150_000 }
        #expect(KafkaSourceGroup.eventually { journal.count == 8 })
        #expect(journal.texts == large)
        #expect(stage.failure == nil && stage.violations.isEmpty)
        stage.close()
    }

    @Test func `several topics are read, and 100,000 messages quickly`() throws {
        var group = try KafkaSourceGroup()
        group.group = "fast"
        group.kafka.create("other", partitions: 1)
        let text = #"{"type":"track","event":"Order Completed","userId":"u1","properties":{"total":19.90}}"#
        for partition in 0..<Int32(4) {
            try group.kafka.append((0..<20_000).map { _ in text }, to: "events", partition)
        }
        try group.kafka.append((0..<20_000).map { _ in text }, to: "other")
        let journal = LaneJournal()
        let stage = try group.member(journal, topics: #""topics":["events","other"]"#)
        #expect(KafkaSourceGroup.eventually { journal.count > 0 })
        let start = ContinuousClock.now
        #expect(KafkaSourceGroup.eventually { journal.count == 100_000 })
        print("kafka source: 100,000 messages in \(ContinuousClock.now - start)")
        stage.close()
        #expect(journal.now.texts("other/0").count == 20_000)
    }
}
