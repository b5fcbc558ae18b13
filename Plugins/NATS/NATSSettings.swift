import PenstockPluginKit

/// The settings of a destination.
struct NATSSettings: Decodable {
    enum Storage: String, Decodable { case file, memory }
    enum Format: String, Decodable { case event, penstock }

    static let schema = """
        {"type": "object", "required": ["servers", "subject"], "additionalProperties": false, "properties": {
        \(NATSConnectionSettings.schema),
        "subject": {"type": "string", "minLength": 1, "maxLength": 1000,
            "description": "the subject, with placeholders: {kind}, {event}, {properties.plan|none}; with format: \
        penstock, it has {partition} and no other"},
        "format": {"type": "string", "enum": ["event", "penstock"],
            "description": "a message for each event, or batches of events for aggregators; default: event"},
        "partitions": {"type": "integer", "minimum": 1, "maximum": 4096,
            "description": "with format: penstock: the number of partitions, the same on all edges; default: 64"},
        "compression_level": {"type": "integer", "minimum": -7, "maximum": 19,
            "description": "with format: penstock: of zstd; default: 1, adapted to large messages"},
        "stream": {"type": "string", "minLength": 1, "maxLength": 255,
            "description": "the stream that must capture the subject; checked when the destination connects"},
        "create": {"type": "boolean",
            "description": "create the stream if it is missing; an existing stream is never changed; default: false"},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 5, "description": "with create; default: 1"},
        "storage": {"type": "string", "enum": ["file", "memory"], "description": "with create; default: file"},
        "max_age": {"type": "string", "description": "with create: how long messages are kept; default: no limit"},
        "max_bytes": {"type": "integer", "minimum": 1, "description": "with create; default: no limit"},
        "duplicate_window": {"type": "string",
            "description": "with create: how long the stream remembers Nats-Msg-Id; default: 2m"},
        "window": {"type": "integer", "minimum": 1, "maximum": 65536,
            "description": "messages in flight; default: 4096; 1 keeps the order in all cases"},
        "timeout": {"type": "string", "description": "for the acknowledgements of a batch; default: 5s"}}}
        """

    private enum CodingKeys: String, CodingKey {
        case subject, stream, create, replicas, storage, window, timeout, format, partitions
        case compressionLevel = "compression_level"
        case maxAge = "max_age"
        case maxBytes = "max_bytes"
        case duplicateWindow = "duplicate_window"
    }

    var connection: NATSConnectionSettings
    var subject: String
    var format: Format
    var partitions: Int?
    var compressionLevel: Int?
    var stream: String?
    var create: Bool
    var replicas: Int?
    var storage: Storage?
    var maxAge: DurationSetting?
    var maxBytes: Int64?
    var duplicateWindow: DurationSetting?
    var window: Int
    var timeout: DurationSetting

    init(from decoder: any Decoder) throws {
        connection = try NATSConnectionSettings(from: decoder)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        subject = try values.decode(String.self, forKey: .subject)
        format = try values.decodeIfPresent(Format.self, forKey: .format) ?? .event
        partitions = try values.decodeIfPresent(Int.self, forKey: .partitions)
        compressionLevel = try values.decodeIfPresent(Int.self, forKey: .compressionLevel)
        stream = try values.decodeIfPresent(String.self, forKey: .stream)
        create = try values.decodeIfPresent(Bool.self, forKey: .create) ?? false
        replicas = try values.decodeIfPresent(Int.self, forKey: .replicas)
        storage = try values.decodeIfPresent(Storage.self, forKey: .storage)
        maxAge = try values.decodeIfPresent(DurationSetting.self, forKey: .maxAge)
        maxBytes = try values.decodeIfPresent(Int64.self, forKey: .maxBytes)
        duplicateWindow = try values.decodeIfPresent(DurationSetting.self, forKey: .duplicateWindow)
        window = try values.decodeIfPresent(Int.self, forKey: .window) ?? 4096
        timeout = try values.decodeIfPresent(DurationSetting.self, forKey: .timeout) ?? DurationSetting(.seconds(5))
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        try connection.validate()
        try timeout.check("timeout", .milliseconds(100)...(.seconds(600)))
        try maxAge?.check("max_age", .milliseconds(100)...(.seconds(100 * 365 * 86_400)))
        try duplicateWindow?.check("duplicate_window", .milliseconds(100)...(.seconds(30 * 86_400)))
        if let stream, stream.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || ".*>/\\".utf8.contains($0) }) {
            throw SinkError(
                "settings.stream: \"\(stream)\" is not a name of a stream; white space and . * > / \\ are not allowed")
        }
        if format == .event, partitions != nil || compressionLevel != nil {
            throw SinkError(
                "settings.format: is not penstock, so partitions and compression_level have no effect; set format: "
                    + "penstock or remove them")
        }
        if create, stream == nil {
            throw SinkError("settings.stream: is missing; create needs the name of the stream")
        }
        if !create, replicas != nil || storage != nil || maxAge != nil || maxBytes != nil || duplicateWindow != nil {
            throw SinkError(
                "settings.create: is not true, so replicas, storage, max_age, max_bytes and duplicate_window have "
                    + "no effect; set create: true or remove them")
        }
    }
}
