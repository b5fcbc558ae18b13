import PenstockPluginKit

struct RedisSettings: Decodable {
    static let schema = """
        {"type": "object", "required": ["address", "stream"], "additionalProperties": false, "properties": {
            "address": {"type": "string", "minLength": 1,
                "description": "HOST:PORT, or the path of a Unix socket"},
            "stream": {"type": "string", "minLength": 1, "maxLength": 1024,
                "description": "the stream's key, with placeholders: {kind}, {event}, {properties.plan|none}"},
            "max_length": {"type": "integer", "minimum": 1, "maximum": 9007199254740991,
                "description": "the number of entries to keep in a stream, approximately; default: no limit"},
            "username": {"type": "string", "minLength": 1, "description": "default: the user \\"default\\""},
            "password": {"type": "string", "minLength": 1},
            "database": {"type": "integer", "minimum": 0, "maximum": 2147483647, "description": "default: 0"},
            "timeout": {"type": "string",
                "description": "for a connection, for a write and for a reply; default: 5s"},
            "exactly_once": {"type": "boolean",
                "description": "whether the position is stored with the entries: no event comes twice; default: false"},
            "position_key": {"type": "string", "minLength": 1, "maxLength": 1024,
                "description": "the key of that position; default: penstock:position:DESTINATION"},
            "batch_events": {"type": "integer", "minimum": 1, "maximum": 100000,
                "description": "the most events in one transaction; default: 1000"}}}
        """

    private enum CodingKeys: String, CodingKey {
        case address, stream, username, password, database, timeout
        case maxLength = "max_length"
        case batchEvents = "batch_events"
        case exactlyOnce = "exactly_once"
        case positionKey = "position_key"
    }

    enum Address: Equatable {
        case server(HostAndPort)
        case socket(path: String)
    }

    var address: String
    var stream: String
    var maxLength: Int?
    var username: String?
    var password: String?
    var database: Int?
    var timeout: DurationSetting?
    var batchEvents: Int?
    var exactlyOnce: Bool?
    var positionKey: String?

    var wait: Duration { timeout?.duration ?? .seconds(5) }

    /// - Throws: an error that names the setting.
    func parsedAddress() throws(SinkError) -> Address {
        guard !address.utf8.contains(0) else { throw SinkError("settings.address: must not contain U+0000") }
        if address.hasPrefix("/") {
            // sizeof sun_path, with the terminating NUL.
            guard address.utf8.count < 108 else {
                throw SinkError("settings.address: the path of a Unix socket has at most 107 bytes")
            }
            return .socket(path: address)
        }
        guard let server = HostAndPort(address) else {
            throw SinkError(
                "settings.address: \"\(address)\" must be HOST:PORT, such as 127.0.0.1:6379, or an absolute path, such"
                    + " as /run/redis/redis.sock")
        }
        return .server(server)
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        guard username == nil || password != nil else {
            throw SinkError("settings.username: needs a password: set settings.password, too")
        }
        try timeout?.check("timeout", .milliseconds(10)...(.seconds(3600)))
    }
}
