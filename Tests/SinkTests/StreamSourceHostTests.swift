import Foundation
import PluginHosting
import PluginSources
import PluginTesting
import Testing

/// The kafka and journald sources in a confined process of their own, as the daemon hosts them.
@Suite struct StreamSourceHostTests {
    private func event(_ partition: Int32, _ number: Int) -> String {
        #"{"type":"track","event":"E","userId":"u\#(partition)","messageId":"m\#(number)"}"#
    }

    /// Whether the events of each partition came once and in order.
    private func isComplete(_ journal: HostedSource.Journal, _ count: Int) -> Bool {
        (0..<Int32(2)).allSatisfy { partition in
            journal.events.filter { $0.contains("\"u\(partition)\"") } == (0..<count).map { event(partition, $0) }
        }
    }

    private func kafkaSettings(_ kafka: MockKafka) -> String {
        #"""
        {"brokers":\#(kafka.brokers),"topic":"events","group":"g",
        "properties":{"session.timeout.ms":3000,"heartbeat.interval.ms":300}}
        """#
    }

    @Test func `a kafka process that is killed in mid-stream loses and repeats nothing`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 2)
        func append(_ numbers: Range<Int>) throws {
            for partition in 0..<Int32(2) {
                try kafka.append(numbers.map { event(partition, $0) }, to: "events", partition)
            }
        }
        let hosted = try HostedSource("kafka", try TestCompiler.built("libkafka.so"), settings: kafkaSettings(kafka))
        for round in 0..<3 {
            try append(round * 5000..<(round + 1) * 5000)
            #expect(KafkaSourceGroup.eventually { hosted.journal.count > round * 10_000 + 100 }, "\(hosted.state)")
            try hosted.killProcess()
        }
        // Only a process that has read them has the partitions, whose offsets it commits when it stops.
        try append(15_000..<15_001)
        #expect(KafkaSourceGroup.eventually { hosted.journal.count >= 30_002 }, "\(hosted.state)")
        #expect(isComplete(hosted.journal, 15_001))
        #expect(hosted.source.status.restarts >= 3)
        hosted.stop()
        #expect(try kafka.committed("g", "events", 0) == 15_001)
        #expect(try kafka.committed("g", "events", 1) == 15_001)
    }

    @Test func `a journald process that is killed in mid-stream loses and repeats nothing`() throws {
        let logs = try JournalDirectory()
        let settings = #"{"directory":"\#(logs.path)","start":"beginning"}"#
        let hosted = try HostedSource("journald", try TestCompiler.built("libjournald.so"), settings: settings)
        for round in 0..<3 {
            try logs.append(round * 5000..<(round + 1) * 5000)
            #expect(KafkaSourceGroup.eventually { hosted.journal.count > round * 5000 + 100 }, "\(hosted.state)")
            try hosted.killProcess()
        }
        #expect(KafkaSourceGroup.eventually { hosted.journal.count >= 15_000 }, "\(hosted.state)")
        let messages = hosted.journal.events.compactMap {
            $0.split(separator: #""message":""#).last?.prefix { $0 != "\"" }
        }
        #expect(messages == (0..<15_000).map { "m\($0)" })
        #expect(hosted.source.status.restarts >= 3)
    }

    @Test func `the journald source keeps the contract`() throws {
        let logs = try JournalDirectory()
        try logs.append(0..<20_000)
        try check("libjournald.so", #"{"directory":"\#(logs.path)","start":"beginning"}"#)
    }

    @Test func `the kafka source keeps the contract`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 2)
        for partition in 0..<Int32(2) {
            try kafka.append((0..<20_000).map { event(partition, $0) }, to: "events", partition)
        }
        try check("libkafka.so", kafkaSettings(kafka))
    }

    private func check(_ library: String, _ settings: String) throws {
        let run = SourceConformance(
            of: try TestCompiler.built(library), settings: settings, deadline: .seconds(30),
            program: try TestCompiler.built("penstock-plugin-host"))
        let conforms = run.run { check, verdict in
            if case .failed(let reason) = verdict { Issue.record("\(check): \(reason)") }
        }
        #expect(conforms)
    }
}
