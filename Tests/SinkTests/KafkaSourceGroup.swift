import Foundation
import PluginTesting

/// Members of a consumer group: instances of the kafka plugin's source in this process, each with a host's journal.
struct KafkaSourceGroup {
    let kafka: MockKafka
    let topic: String
    var group = "g"
    private let directory: PluginTestDirectory

    init(_ topic: String = "events", partitions: Int32 = 4) throws {
        kafka = try MockKafka()
        self.topic = topic
        kafka.create(topic, partitions: partitions)
        directory = try PluginTestDirectory()
        try directory.addBuilt("libkafka.so")
    }

    static func event(_ partition: Int32, _ number: Int) -> String { #"{"p":\#(partition),"n":\#(number)}"# }

    /// Appends the events of these numbers to each partition.
    func append(_ numbers: Range<Int>, partitions: Int32 = 4) throws {
        for partition in 0..<partitions {
            try kafka.append(numbers.map { Self.event(partition, $0) }, to: topic, partition)
        }
    }

    /// Creates an instance.
    /// - Parameter topics: the setting that names the topics; nil: the group's topic.
    func create(
        _ journal: LaneJournal, _ more: String = "", topics: String? = nil, properties: String = "",
        _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        let topics = topics ?? #""topic":"\#(topic)""#
        // When a member joins, a mock broker waits for the others for a second less than a session lasts, and then puts
        // them out; a real one waits for max.poll.interval.ms. A busy machine needs some seconds.
        let session = #""session.timeout.ms":10000,"heartbeat.interval.ms":300"#
        return try create(
            journal,
            settings: #"""
                {"brokers":\#(kafka.brokers),\#(topics),"group":"\#(group)","commit_interval":"50ms",
                "connect_timeout":"5s","properties":{\#(session)\#(properties)}\#(more)}
                """#, configure)
    }

    func create(
        _ journal: LaneJournal, settings: String, _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        unsafe try SourceStage(
            SourceStage.load("\(directory.path)/libkafka.so"), settings: settings, journal: journal, configure)
    }

    /// An instance that reads.
    func member(
        _ journal: LaneJournal, _ more: String = "", topics: String? = nil, properties: String = "",
        _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        let stage = try create(journal, more, topics: topics, properties: properties, configure)
        try stage.connect()
        try stage.start()
        return stage
    }

    /// What a partition's events must be.
    func expected(_ partition: Int32, _ numbers: Range<Int>) -> [String] {
        numbers.map { Self.event(partition, $0) }
    }

    /// Waits long enough for a group to form.
    static func eventually(_ seconds: TimeInterval = 60, _ condition: () throws -> Bool) rethrows -> Bool {
        let end = Date() + seconds
        while Date() < end {
            if try condition() { return true }
            usleep(5000)
        }
        return try condition()
    }
}
