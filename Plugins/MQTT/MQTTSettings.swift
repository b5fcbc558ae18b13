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
            "tls": {"type": "boolean", "description": "encrypt; default: true with any of tls_*"},
            "tls_ca": {"type": "string", "minLength": 1, "format": "path",
                "description": "a file with the certificates to trust; default: those of the system"},
            "tls_certificate": {"type": "string", "minLength": 1, "format": "path",
                "description": "a file with this client's certificate"},
            "tls_key": {"type": "string", "minLength": 1, "format": "path", "description": "its key, not encrypted"},
            "window": {"type": "integer", "minimum": 1, "maximum": 65535,
                "description": "the most messages without an acknowledgement; a broker may allow fewer; default: 100"},
            "keepalive": {"type": "string",
                "description": "time without a message, after which the connection is checked; default: 60s"},
            "timeout": {"type": "string",
                "description": "for the connection, and for the next acknowledgement; default: 10s"}}}
        """

    var address: String
    var topic: String
    var retain: Bool?
    var client_id: String?
    var username: String?
    var password: String?
    var tls: Bool?
    var tls_ca: String?
    var tls_certificate: String?
    var tls_key: String?
    var window: Int?
    var keepalive: DurationSetting?
    var timeout: DurationSetting?

    var usesTLS: Bool { tls ?? (tls_ca != nil || tls_certificate != nil) }
    var wait: Duration { timeout?.duration ?? .seconds(10) }
    /// MQTT has whole seconds.
    var keepaliveSeconds: Int32 { Int32(clamping: (keepalive?.duration ?? .seconds(60)).components.seconds) }

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
        guard client_id.map(MQTTProperties.isAllowed) ?? true else {
            throw SinkError("settings.client_id: must not contain control characters")
        }
        guard username != nil || password == nil else {
            throw SinkError("settings.password: needs a username: set settings.username, too")
        }
        if (tls_certificate == nil) != (tls_key == nil) {
            throw SinkError(
                "settings.\(tls_key == nil ? "tls_key" : "tls_certificate"): is missing; "
                    + "set tls_certificate and tls_key, or neither")
        }
        if tls == false, tls_ca != nil || tls_certificate != nil {
            throw SinkError("settings.tls: is false, but tls_ca or tls_certificate is set; remove one of them")
        }
        try keepalive?.check("keepalive", .seconds(5)...(.seconds(65_535)))
        try timeout?.check("timeout", .milliseconds(10)...(.seconds(3600)))
    }
}
