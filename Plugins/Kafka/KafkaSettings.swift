import PenstockPluginKit

/// The settings of a destination.
struct KafkaSettings: Decodable {
    enum Partitioner: String, Decodable {
        case murmur2 = "murmur2"
        case murmur2Random = "murmur2_random"
        case consistent = "consistent"
        case consistentRandom = "consistent_random"
        case fnv1a = "fnv1a"
        case fnv1aRandom = "fnv1a_random"
        case random = "random"
    }

    enum Format: String, Decodable { case event, penstock }

    enum Compression: String, Decodable { case none, gzip, snappy, lz4, zstd }

    static let schema = """
        {"type": "object", "required": ["brokers", "topic"], "additionalProperties": false, "properties": {
        \(KafkaConnectionSettings.schema),
        "topic": {"type": "string", "minLength": 1, "maxLength": 1000,
            "description": "the topic, with placeholders: {kind}, {event}, {properties.plan|none}"},
        "format": {"type": "string", "enum": ["event", "penstock"],
            "description": "a message for each event, or batches of events for aggregators; default: event"},
        "compression_level": {"type": "integer", "minimum": -7, "maximum": 19,
            "description": "with format: penstock: of zstd; default: 1, adapted to large messages"},
        "key": {"type": "string",
            "description": "the path of the key; default: userId, or anonymousId if it is missing; empty: no key"},
        "partitioner": {"type": "string", "enum": ["murmur2", "murmur2_random", "consistent", "consistent_random",
            "fnv1a", "fnv1a_random", "random"], "description": "default: murmur2_random, as the Java client's"},
        "compression": {"type": "string", "enum": ["none", "gzip", "snappy", "lz4", "zstd"],
            "description": "default: none"},
        "timeout": {"type": "string",
            "description": "for the delivery reports of a batch; after it, events are offered again; default: 20s"},
        "batches": {"type": "integer", "minimum": 1, "maximum": 64,
            "description": "batches in flight; default: 8"}}}
        """

    private enum CodingKeys: String, CodingKey {
        case topic, key, partitioner, compression, timeout, batches, format
        case compressionLevel = "compression_level"
    }

    var connection: KafkaConnectionSettings
    var topic: String
    var format: Format
    var compressionLevel: Int?
    var key: String?
    var partitioner: Partitioner
    var compression: Compression
    var timeout: DurationSetting
    var batches: Int
    /// The settings that have no effect with `format: penstock`.
    private let givenForEvents: [String]

    init(from decoder: any Decoder) throws {
        connection = try KafkaConnectionSettings(from: decoder)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        topic = try values.decode(String.self, forKey: .topic)
        format = try values.decodeIfPresent(Format.self, forKey: .format) ?? .event
        compressionLevel = try values.decodeIfPresent(Int.self, forKey: .compressionLevel)
        givenForEvents = [CodingKeys.key, .partitioner, .compression].filter(values.contains).map(\.stringValue)
        key = try values.decodeIfPresent(String.self, forKey: .key)
        partitioner = try values.decodeIfPresent(Partitioner.self, forKey: .partitioner) ?? .murmur2Random
        compression = try values.decodeIfPresent(Compression.self, forKey: .compression) ?? .none
        timeout = try values.decodeIfPresent(DurationSetting.self, forKey: .timeout) ?? DurationSetting(.seconds(20))
        batches = try values.decodeIfPresent(Int.self, forKey: .batches) ?? 8
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        try connection.validate(for: .sink)
        try timeout.check("timeout", .seconds(1)...(.seconds(600)))
        if format == .penstock, let name = givenForEvents.first {
            throw SinkError(
                "settings.\(name): has no effect with format: penstock, which compresses batches and divides events by "
                    + "user; remove it")
        }
        if format == .event, compressionLevel != nil {
            throw SinkError("settings.compression_level: has no effect without format: penstock; remove it")
        }
    }
}
