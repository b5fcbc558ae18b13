import PenstockPluginKit

struct MQTTSettings: Decodable {
    static let schema = """
        {"type": "object", "required": ["address", "topic"], "additionalProperties": false, "properties": {
            "address": {"type": "string", "minLength": 1, "description": "HOST:PORT of the broker"},
            "topic": {"type": "string", "minLength": 1, "maxLength": 1024,
                "description": "the topic; it may contain {kind} and fields such as {event} and {properties.plan}"},
            "retain": {"type": "boolean",
                "description": "whether the broker keeps the last event of each topic; default: false"},
            "client_id": {"type": "string", "minLength": 1, "maxLength": 256,
                "description": "default: penstock, the destination's name and the journal's id"},
            "username": {"type": "string", "minLength": 1},
            "password": {"type": "string", "minLength": 1},
            "tls": {"type": "boolean", "description": "default: false"},
            "tls_ca": {"type": "string", "minLength": 1, "format": "path",
                "description": "a file with the certificates to trust; default: those of the system"},
            "tls_certificate": {"type": "string", "minLength": 1, "format": "path",
                "description": "a file with this client's certificate"},
            "tls_key": {"type": "string", "minLength": 1, "format": "path", "description": "its key, not encrypted"},
            "in_flight": {"type": "integer", "minimum": 1, "maximum": 65535,
                "description": "the most messages without an acknowledgement; a broker may allow fewer; default: 100"},
            "keepalive": {"type": "integer", "minimum": 5, "maximum": 65535,
                "description": "seconds without a message, after which the connection is checked; default: 60"},
            "timeout": {"type": "number", "minimum": 0.01, "maximum": 3600,
                "description": "seconds to wait for the connection, and for the next acknowledgement; default: 10"}}}
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
    var in_flight: Int?
    var keepalive: Int?
    var timeout: Double?

    var usesTLS: Bool { tls ?? false }
    var seconds: Double { timeout ?? 10 }

    /// - Throws: an error that names the setting.
    func parsedAddress() throws(SinkError) -> (host: String, port: Int32) {
        guard let colon = address.lastIndex(of: ":"), colon > address.startIndex,
            let port = UInt16(address[address.index(after: colon)...]), port > 0, !address.utf8.contains(0)
        else {
            throw SinkError("settings.address: \"\(address)\" must be HOST:PORT, such as 127.0.0.1:1883")
        }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw SinkError("settings.address: the host is missing") }
        return (String(host), Int32(port))
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        // In the text between placeholders, too: what a placeholder inserts is encoded.
        guard !topic.contains(where: { "+#\0".contains($0) }) else {
            throw SinkError(
                "settings.topic: must not contain +, # or U+0000: a topic that is published has no wildcards")
        }
        guard MQTTProperties.isAllowed(Array(topic.utf8)) else {
            throw SinkError("settings.topic: must not contain control characters")
        }
        guard client_id.map({ MQTTProperties.isAllowed(Array($0.utf8)) }) ?? true else {
            throw SinkError("settings.client_id: must not contain control characters")
        }
        guard username != nil || password == nil else {
            throw SinkError("settings.password: needs a username: set settings.username, too")
        }
        guard usesTLS || (tls_ca ?? tls_certificate ?? tls_key) == nil else {
            throw SinkError("settings.tls: must be true, because another setting for TLS is set")
        }
        guard (tls_certificate == nil) == (tls_key == nil) else {
            throw SinkError(
                "settings.tls_certificate: needs a key: set both settings.tls_certificate and settings.tls_key")
        }
    }
}
