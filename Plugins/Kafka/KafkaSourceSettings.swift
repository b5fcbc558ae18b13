import PenstockPluginKit

/// The settings of a source.
struct KafkaSourceSettings: Decodable {
    static let schema = """
        {"type": "object", "required": ["brokers", "group"], "additionalProperties": false, "properties": {
        \(KafkaConnectionSettings.schema),
        "topic": {"type": "string", "minLength": 1, "maxLength": 249, "description": "the topic to read"},
        "topics": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 249},
            "description": "the topics to read; instead of topic"},
        "group": {"type": "string", "minLength": 1, "maxLength": 249,
            "description": "the consumer group; its members share the partitions"},
        "start": {"type": "string", "enum": ["earliest", "latest"],
            "description": "where a partition without any position begins; default: earliest"},
        "commit_interval": {"type": "string",
            "description": "how often the group's offsets are committed; default: 1s"},
        "revoke_timeout": {"type": "string",
            "description": "how long a partition that moves to another member waits for the journal; default: 20s"}}}
        """

    private static let maximumTopics = 100
    /// The reading thread polls at least this often, also while it waits for a broker.
    private static let leastPollInterval = 10_000

    private enum CodingKeys: String, CodingKey {
        case topic, topics, group, start
        case commitInterval = "commit_interval"
        case revokeTimeout = "revoke_timeout"
    }

    var connection: KafkaConnectionSettings
    var topics: [String]
    var group: String
    var start: KafkaStart.Policy
    var commitInterval: DurationSetting
    var revokeTimeout: DurationSetting
    private var hasBoth = false

    /// A member that sends nothing for so long is no longer in its group. librdkafka's default is 45 s.
    var session: Duration {
        let property = connection.properties?["session.timeout.ms"].flatMap { Int64($0.text) }
        return .milliseconds(min(max(property ?? 45_000, 1), 3_600_000))
    }

    init(from decoder: any Decoder) throws {
        connection = try KafkaConnectionSettings(from: decoder)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let topic = try values.decodeIfPresent(String.self, forKey: .topic)
        let list = try values.decodeIfPresent([String].self, forKey: .topics)
        hasBoth = topic != nil && list != nil
        topics = list ?? topic.map { [$0] } ?? []
        group = try values.decode(String.self, forKey: .group)
        start = try values.decodeIfPresent(KafkaStart.Policy.self, forKey: .start) ?? .earliest
        commitInterval =
            try values.decodeIfPresent(DurationSetting.self, forKey: .commitInterval) ?? DurationSetting(.seconds(1))
        revokeTimeout =
            try values.decodeIfPresent(DurationSetting.self, forKey: .revokeTimeout) ?? DurationSetting(.seconds(20))
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SourceError) {
        try connection.validate(for: .source)
        if hasBoth { throw SourceError("settings.topic: topics is set, too; remove one of them") }
        guard !topics.isEmpty, topics.count <= Self.maximumTopics else {
            throw SourceError("settings.topics: must name 1 to \(Self.maximumTopics) topics; \(topics.count) are named")
        }
        for topic in topics {
            guard topic.utf8.allSatisfy(KafkaTopic.isSafe) else {
                throw SourceError(
                    "settings.topics: \"\(topic)\" is not a topic's name, which has only the characters"
                        + " A-Z a-z 0-9 . _ -; a pattern is not supported, name each topic")
            }
            if let why = KafkaTopic.problem(topic) { throw SourceError("settings.topics: \"\(topic)\" \(why)") }
        }
        if let twice = Dictionary(grouping: topics, by: \.self).first(where: { $1.count > 1 })?.key {
            throw SourceError("settings.topics: \"\(twice)\" is named twice; remove one of them")
        }
        // The library would read the text only up to U+0000.
        if group.utf8.contains(0) { throw SourceError("settings.group: contains U+0000; remove it") }
        try commitInterval.check("commit_interval", .milliseconds(10)...(.seconds(60)))
        try revokeTimeout.check("revoke_timeout", .milliseconds(100)...(.seconds(120)))
        let name = "max.poll.interval.ms"
        if let interval = connection.properties?[name], (Int64(interval.text) ?? 0) < Self.leastPollInterval {
            throw SourceError(
                "settings.properties.\(name): is \(interval.text), but must be at least \(Self.leastPollInterval)")
        }
    }
}
