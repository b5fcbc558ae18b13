import PenstockPluginKit

struct MQTTSettings: Decodable {
    static let schema = """
        {"type": "object", "required": ["address", "topic"], "additionalProperties": false, "properties": {
            "address": {"type": "string", "minLength": 1, "description": "HOST:PORT of the broker"},
            "topic": {"type": "string", "minLength": 1, "maxLength": 1024,
                "description": "the topic, with placeholders: {kind}, {event}, {properties.plan|none}"},
            "retain": {"type": "boolean",
                "description": "whether the broker keeps the last event of each topic; default: false"},
            "client_id": {"type": "string", "minLength": 1, "maxLength": 256,
                "description": "default: penstock, the destination's name and the journal's id"},
            "username": {"type": "string", "minLength": 1},
            "password": {"type": "string", "minLength": 1},
            \(TLSSettings.schema),
            "window": {"type": "integer", "minimum": 1, "maximum": 65535,
                "description": "the most messages without an acknowledgement; a broker may allow fewer; default: 100"},
            "keepalive": {"type": "string",
                "description": "time without a message, after which the connection is checked; default: 60s"},
            "timeout": {"type": "string",
                "description": "for the connection, and for the next acknowledgement; default: 10s"}}}
        """

    private enum CodingKeys: String, CodingKey {
        case address, topic, retain, username, password, window, keepalive, timeout
        case clientID = "client_id"
    }

    var address: String
    var topic: String
    var retain: Bool
    var clientID: String?
    var username: String?
    var password: String?
    var tls: TLSSettings
    var window: Int
    var keepalive: DurationSetting
    var timeout: DurationSetting

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        address = try values.decode(String.self, forKey: .address)
        topic = try values.decode(String.self, forKey: .topic)
        retain = try values.decodeIfPresent(Bool.self, forKey: .retain) ?? false
        clientID = try values.decodeIfPresent(String.self, forKey: .clientID)
        username = try values.decodeIfPresent(String.self, forKey: .username)
        password = try values.decodeIfPresent(String.self, forKey: .password)
        tls = try TLSSettings(from: decoder)
        window = try values.decodeIfPresent(Int.self, forKey: .window) ?? 100
        keepalive =
            try values.decodeIfPresent(DurationSetting.self, forKey: .keepalive) ?? DurationSetting(.seconds(60))
        timeout = try values.decodeIfPresent(DurationSetting.self, forKey: .timeout) ?? DurationSetting(.seconds(10))
    }

    /// - Throws: an error that names the setting.
    func parsedAddress() throws(SinkError) -> HostAndPort {
        guard let parsed = HostAndPort(address) else {
            throw SinkError("settings.address: \"\(address)\" must be HOST:PORT, such as 127.0.0.1:1883")
        }
        return parsed
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        // In the text between placeholders, too: what a placeholder inserts is encoded.
        guard !topic.contains(where: { "+#\0".contains($0) }) else {
            throw SinkError(
                "settings.topic: must not contain +, # or U+0000: a topic that is published has no wildcards")
        }
        guard MQTTProperties.isAllowed(topic) else {
            throw SinkError("settings.topic: must not contain control characters")
        }
        guard clientID.map(MQTTProperties.isAllowed) ?? true else {
            throw SinkError("settings.client_id: must not contain control characters")
        }
        guard username != nil || password == nil else {
            throw SinkError("settings.password: needs a username: set settings.username, too")
        }
        try tls.validate()
        try keepalive.check("keepalive", .seconds(5)...(.seconds(65_535)))
        try timeout.check("timeout", .milliseconds(10)...(.seconds(3600)))
    }
}
