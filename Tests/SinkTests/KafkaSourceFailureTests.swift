import CKafka
import Foundation
import PluginTesting
import Testing

/// The kafka plugin's source while brokers fail, logs change, and the host is busy.
@Suite struct KafkaSourceFailureTests {
    private func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
        try KafkaSourceGroup.eventually(60, condition)
    }

    @Test(arguments: [
        (KafkaRequest.fetch, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION.rawValue),
        (.fetch, RD_KAFKA_RESP_ERR__TRANSPORT.rawValue), (.fetch, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue),
        (.listOffsets, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE.rawValue),
        (.offsetFetch, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS.rawValue),
        (.offsetFetch, RD_KAFKA_RESP_ERR_NOT_COORDINATOR.rawValue),
        (.offsetCommit, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS.rawValue),
        (.offsetCommit, RD_KAFKA_RESP_ERR__TRANSPORT.rawValue),
        (.heartbeat, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID.rawValue),
        (.joinGroup, RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE.rawValue),
        (.metadata, RD_KAFKA_RESP_ERR__TRANSPORT.rawValue),
    ])
    func `errors of brokers that pass lose and repeat nothing`(request: KafkaRequest, code: Int32) throws {
        let group = try KafkaSourceGroup(partitions: 2)
        try group.append(0..<500, partitions: 2)
        group.kafka.fail(request, Array(repeating: rd_kafka_resp_err_t(code), count: 3))
        let journal = LaneJournal()
        let stage = try group.member(journal)
        #expect(eventually { journal.count >= 1000 })
        try group.append(500..<1000, partitions: 2)
        #expect(eventually { journal.count >= 2000 })
        for partition in 0..<Int32(2) {
            #expect(journal.now.texts("events/\(partition)") == group.expected(partition, 0..<1000))
            // The journal's positions are what counts; the group's offset serves tools and other members.
            let isCommitted = try eventually { try group.kafka.committed("g", "events", partition) == 1000 }
            withKnownIssue("under load, librdkafka 2.0 sometimes commits no more", isIntermittent: true) {
                #expect(isCommitted, "\(stage.problem ?? "no problem"), \(stage.openLanes): \(stage.log)")
            } when: {
                request == .offsetCommit && code == RD_KAFKA_RESP_ERR__TRANSPORT.rawValue
            }
        }
        #expect(stage.failure == nil)
        stage.close()
    }

    @Test func `brokers that are down are a problem, and reading goes on by itself`() throws {
        let group = try KafkaSourceGroup()
        try group.append(0..<1000)
        let journal = LaneJournal()
        group.kafka.setDown(-1)
        let stage = try group.create(journal, #","start":"earliest""#)
        let error = #expect(throws: TestProblem.self) { try stage.connect() }
        #expect(error?.description.contains("no broker answers") == true, "\(error?.description ?? "")")
        group.kafka.setUp(-1)
        try stage.connect()
        try stage.start()
        #expect(eventually { journal.count == 4000 })
        group.kafka.setDown(-1)
        #expect(eventually { stage.problem?.contains("no broker answers") == true })
        group.kafka.setUp(-1)
        try group.append(1000..<1100)
        #expect(eventually { journal.count >= 4400 && stage.problem == nil }, "\(stage.problem ?? "")")
        for partition in 0..<Int32(4) {
            #expect(journal.now.texts("events/\(partition)") == group.expected(partition, 0..<1100))
        }
        stage.close()
    }

    @Test(arguments: [
        (RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue, "the topic events does not exist: create it"),
        (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED.rawValue, "the topic events may not be used"),
    ])
    func `a topic that cannot be read is a problem until it can`(code: Int32, words: String) throws {
        let group = try KafkaSourceGroup(partitions: 1)
        try group.append(0..<10, partitions: 1)
        group.kafka.setTopicError("events", rd_kafka_resp_err_t(code))
        let journal = LaneJournal()
        let stage = try group.member(journal, properties: #","topic.metadata.refresh.interval.ms":1000"#)
        #expect(eventually { stage.problem?.contains(words) == true }, "\(stage.problem ?? "")")
        group.kafka.setTopicError("events", RD_KAFKA_RESP_ERR_NO_ERROR)
        #expect(eventually { journal.count == 10 && stage.problem == nil }, "\(stage.problem ?? "")")
        stage.close()
    }

    @Test func `two members share the partitions, and each event is stored once when they move`() throws {
        let group = try KafkaSourceGroup()
        try group.append(0..<1000)
        let (one, two) = (LaneJournal(), LaneJournal())
        let first = try group.member(one) {
            $0.maxOfferEvents = 10
            $0.window = 1000
        }
        #expect(eventually { one.count > 500 })
        let second = try group.member(two)
        #expect(eventually { first.openLanes.count == 2 && second.openLanes.count == 2 })
        try group.append(1000..<2000)
        #expect(eventually { has(8000, one, two) })
        check(group, [one, two], 0..<2000, first.log)
        #expect(!two.texts.isEmpty && first.openLanes.isDisjoint(with: second.openLanes))
        second.close()
        #expect(eventually { first.openLanes.count == 4 })
        try group.append(2000..<2500)
        #expect(eventually { has(10_000, one, two) })
        check(group, [one, two], 0..<2500, first.log + second.log)
        first.close()
        #expect(first.violations.isEmpty && second.violations.isEmpty && first.failure == nil)
    }

    /// Whether so many different events are in the journals.
    private func has(_ count: Int, _ one: LaneJournal, _ two: LaneJournal) -> Bool {
        one.count + two.count >= count && Set(one.texts).union(two.texts).count >= count
    }

    /// Each event is in one journal, and each journal has those of a partition in order. A mock broker refuses the commit
    /// of a partition that moves, if the group already shares its partitions anew. Then events may come twice, and the
    /// log says so.
    private func check(_ group: KafkaSourceGroup, _ journals: [LaneJournal], _ numbers: Range<Int>, _ log: [String]) {
        let mayRepeat = log.contains { $0.contains("may come twice") || $0.contains("partitions were lost") }
        for partition in 0..<Int32(4) {
            let texts = journals.map { $0.now.texts("events/\(partition)") }
            let expected = group.expected(partition, numbers)
            let all = texts.flatMap(\.self).sorted()
            if mayRepeat {
                #expect(Set(all) == Set(expected), "partition \(partition): \(log)")
            } else {
                #expect(all == expected.sorted(), "partition \(partition): \(log)")
            }
            let places = Dictionary(uniqueKeysWithValues: zip(expected, 0...))
            for list in texts { #expect(list.compactMap { places[$0] } == list.compactMap { places[$0] }.sorted()) }
        }
    }

    @Test func `a partition that moves waits for the journal, but not longer than revoke_timeout`() throws {
        let group = try KafkaSourceGroup(partitions: 2)
        try group.append(0..<100, partitions: 2)
        let (one, two) = (LaneJournal(), LaneJournal())
        let first = try group.member(one, #","revoke_timeout":"1s""#)
        // The commit must come before the move.
        #expect(
            try eventually { try (0..<2).allSatisfy { try group.kafka.committed("g", "events", $0) == 100 } })
        first.hold()
        try group.append(100..<200, partitions: 2)
        #expect(eventually { first.log.count > 0 && first.offerCount >= 2 })
        let second = try group.member(two)
        #expect(
            eventually { second.openLanes.count == 1 && two.count == 100 },
            "\(first.openLanes) \(first.log), \(second.openLanes) \(two.count) \(second.log)")
        #expect(first.log.contains { $0.contains("may come twice") })
        first.release()
        #expect(eventually { one.count == 400 })
        first.close()
        second.close()
    }

    @Test func `a host that is busy for longer than max.poll.interval.ms loses no partition`() throws {
        let group = try KafkaSourceGroup()
        try group.append(0..<2000)
        let journal = LaneJournal()
        let stage = try group.member(journal, properties: #","max.poll.interval.ms":10000"#) { $0.window = 10_000 }
        #expect(eventually { journal.count > 0 })
        stage.hold()
        #expect(eventually { stage.busyCount > 0 })
        let end = Date() + 12
        while Date() < end {
            #expect(stage.openLanes.count == 4 && stage.failure == nil)
            usleep(200_000)
        }
        stage.release()
        #expect(eventually { journal.count >= 8000 })
        for partition in 0..<Int32(4) {
            #expect(journal.now.texts("events/\(partition)") == group.expected(partition, 0..<2000))
        }
        #expect(!stage.log.contains { $0.contains("lost") || $0.contains("POLL") }, "\(stage.log)")
        stage.close()
    }

    @Test func `a position beyond the log's end is reported, and reading begins at the log's beginning`() throws {
        let group = try KafkaSourceGroup(partitions: 2)
        try group.append(0..<50, partitions: 2)
        try group.kafka.commit(700, "g", "events", 0)
        let journal = LaneJournal(["events/0": "1000", "events/1": "\(Int64.max)"])
        let stage = try group.member(journal)
        #expect(eventually { journal.count == 100 })
        #expect(stage.log.contains { $0.contains("position 1000 is beyond the log's end 50") })
        #expect(stage.counters["kafka_positions_beyond_end"] == 2)
        // The group's offset goes back as well.
        #expect(try eventually { try group.kafka.committed("g", "events", 0) == 50 })
        #expect(journal.position("events/0") == "50")
        stage.close()
        let next = try group.member(journal)
        try group.append(50..<60, partitions: 2)
        #expect(eventually { journal.count >= 120 })
        #expect(journal.now.texts("events/0") == group.expected(0, 0..<60))
        next.close()
    }

    @Test func `messages that the log deleted before they were read are counted`() throws {
        let group = try KafkaSourceGroup(partitions: 1)
        let large = String(repeating: "x", count: 10_000)
        // A mock broker keeps 5 MB of a partition.
        try group.kafka.append((0..<1000).map { #"{"n":\#($0),"x":"\#(large)"}"# }, to: "events")
        let journal = LaneJournal(["events/0": "5"])
        let stage = try group.member(journal) { $0.window = 50_000 }
        #expect(eventually { journal.count > 0 })
        stage.hold()
        let lost = try #require(stage.counters["kafka_lost_offsets"])
        #expect(stage.log.contains { $0.contains("\(lost) offsets were deleted before they were read") })
        #expect(journal.texts[0].hasPrefix(#"{"n":\#(lost + 5),"#))
        // The same while reading: the log moves on below the reader.
        #expect(eventually { stage.busyCount > 0 })
        usleep(1_500_000)
        try group.kafka.append((1000..<2000).map { #"{"n":\#($0),"x":"\#(large)"}"# }, to: "events")
        stage.release()
        #expect(eventually { journal.position("events/0") == "2000" }, "\(stage.log.suffix(5))")
        let all = try #require(stage.counters["kafka_lost_offsets"])
        #expect(all > lost && Int(all) + journal.count == 2000 - 5)
        stage.close()
    }

    @Test func `stop ends reading at once, and earlier offers are still committed`() throws {
        let group = try KafkaSourceGroup(partitions: 1)
        try group.append(0..<2000, partitions: 1)
        let journal = LaneJournal()
        let stage = try group.member(journal) { $0.window = 3000 }
        stage.hold()
        #expect(eventually { stage.busyCount > 0 })
        stage.callStop()
        let count = stage.offerCount
        stage.release()
        let position = { journal.position("events/0").flatMap { Int64($0) } }
        #expect(
            try eventually { try position() != nil && group.kafka.committed("g", "events") == position() },
            "\(stage.log)")
        #expect(stage.offerCount == count && stage.violations.isEmpty)
    }

    /// The group may share its partitions anew at that moment, as when members that were killed time out.
    @Test(arguments: [1, 3])
    func `a stop commits everything although the coordinator refuses at first`(refusals: Int) throws {
        let group = try KafkaSourceGroup(partitions: 1)
        try group.append(0..<2000, partitions: 1)
        let journal = LaneJournal()
        let stage = try group.create(
            journal,
            settings: #"""
                {"brokers":\#(group.kafka.brokers),"topic":"events","group":"g","commit_interval":"60s",
                "properties":{"session.timeout.ms":3000,"heartbeat.interval.ms":300}}
                """#)
        try stage.connect()
        try stage.start()
        #expect(eventually { journal.position("events/0") == "2000" }, "\(stage.log)")
        let refusal = RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS
        group.kafka.fail(.offsetCommit, Array(repeating: refusal, count: refusals))
        stage.close()
        #expect(try group.kafka.committed("g", "events") == 2000, "\(stage.log)")
    }

    /// librdkafka before 2.3 aborts when a member goes before the group was shared out for the first time.
    @Test(arguments: [0, 1000])
    func `a stop while the group is shared out again and again ends well`(refusals: Int) throws {
        for milliseconds in stride(from: 0, through: 900, by: refusals == 0 ? 90 : 300) {
            let group = try KafkaSourceGroup(partitions: 1)
            let refusal = RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS
            group.kafka.fail(.syncGroup, Array(repeating: refusal, count: refusals))
            let stage = try group.member(LaneJournal())
            // Anything may be under way then.
            usleep(UInt32(milliseconds) * 1000)
            stage.close()
            #expect(stage.failure == nil)
        }
    }

    @Test(arguments: [
        (#""topic":"a","topics":["a"]"#, "settings.topic: topics is set, too"),
        (#""topic":"a","start":"middle""#, "settings.start"),
        (#""topic":"a","revoke_timeout":"1ms""#, "settings.revoke_timeout"),
        (#""topic":"a","commit_interval":"2h""#, "settings.commit_interval"),
        (#""topic":"a","group":"a\u0000b""#, "settings.group"), (#""topic":"a","brokers":[]"#, "settings.brokers"),
        ("", "settings.topics: must name 1 to 100 topics"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        var all = [#""brokers":["127.0.0.1:1"]"#, #""group":"g""#, settings].filter { !$0.isEmpty }
        all.removeAll { part in settings != part && settings.contains(part.prefix { $0 != ":" }) }
        let group = try KafkaSourceGroup()
        let error = #expect(throws: TestProblem.self) {
            try group.create(LaneJournal(), settings: "{\(all.joined(separator: ","))}")
        }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        (#""topics":[]"#, "must name 1 to 100 topics"), (#""topics":["a b"]"#, #"settings.topics: "a b" is not a"#),
        (#""topics":["^a"]"#, "a pattern is not supported"), (#""topics":["a","a"]"#, #""a" is named twice"#),
        (#""topics":[".."]"#, "is not a name of a topic"),
    ])
    func `bad topics are named`(topics: String, words: String) throws {
        let group = try KafkaSourceGroup()
        let error = #expect(throws: TestProblem.self) { try group.create(LaneJournal(), topics: topics) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        (#""group.id":"x""#, "is set by settings.group"), (#""enable.auto.commit":true"#, "delivery guarantees"),
        (#""auto.offset.reset":"latest""#, "is set by settings.start"),
        (#""max.poll.interval.ms":9999"#, "at least 10000"),
        (#""partition.assignment.strategy":"range""#, "delivery guarantees"), (#""no.such":1"#, "no.such"),
    ])
    func `properties that would break the source are named`(property: String, words: String) throws {
        let group = try KafkaSourceGroup()
        let error = #expect(throws: TestProblem.self) { try group.create(LaneJournal(), properties: "," + property) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: ["", "-1", "1.5", "x", "9223372036854775808", "\u{FF11}"])
    func `a stored position that is no offset is refused`(position: String) throws {
        let group = try KafkaSourceGroup()
        let stage = try group.create(LaneJournal(["events/0": position]))
        try stage.connect()
        let error = #expect(throws: TestProblem.self) { try stage.start() }
        #expect(error?.description.contains("of events/0 is not an offset") == true, "\(error?.description ?? "")")
    }
}
