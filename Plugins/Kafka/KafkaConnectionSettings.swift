import PenstockPluginKit

/// The settings of a connection, whatever it is used for.
struct KafkaConnectionSettings: Decodable {
    struct SASL: Decodable {
        enum Mechanism: String, Decodable {
            case plain = "PLAIN"
            case scram256 = "SCRAM-SHA-256"
            case scram512 = "SCRAM-SHA-512"
        }

        var mechanism: Mechanism
        var user: String
        var password: String
    }

    /// Members of a schema's "properties".
    static let schema = """
        "brokers": {"type": "array", "items": {"type": "string", "minLength": 1},
            "description": "host:port of some of the cluster's brokers; the others are found through them"},
        "tls": {"type": "boolean", "description": "encrypt; default: true with any of tls_*"},
        "tls_ca": {"type": "string", "format": "path",
            "description": "PEM file of the authorities to trust; default: those of the system"},
        "tls_certificate": {"type": "string", "format": "path", "description": "PEM file of the client's certificate"},
        "tls_key": {"type": "string", "format": "path", "description": "PEM file of the client's key"},
        "tls_key_password": {"type": "string"},
        "sasl": {"type": "object", "required": ["mechanism", "user", "password"], "additionalProperties": false,
            "properties": {
                "mechanism": {"type": "string", "enum": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]},
                "user": {"type": "string"}, "password": {"type": "string"}}},
        "connect_timeout": {"type": "string", "description": "to find the topic when connecting; default: 10s"},
        "properties": {"type": "object",
            "description": "more properties of librdkafka, such as linger.ms or message.max.bytes"}
        """

    private enum CodingKeys: String, CodingKey {
        case brokers, tls, sasl, properties
        case ca = "tls_ca"
        case certificate = "tls_certificate"
        case key = "tls_key"
        case keyPassword = "tls_key_password"
        case connectTimeout = "connect_timeout"
    }

    var brokers: [String]
    var tls: Bool?
    var ca: String?
    var certificate: String?
    var key: String?
    var keyPassword: String?
    var sasl: SASL?
    var connectTimeout: DurationSetting?
    var properties: [String: KafkaProperty]?

    var timeout: Duration { connectTimeout?.duration ?? .seconds(10) }
    private var usesTLS: Bool { tls ?? (ca != nil || certificate != nil) }

    /// librdkafka's properties for these settings. Those of `properties` come last.
    var configuration: [(name: String, value: String)] {
        let protocols = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]
        var list = [
            ("bootstrap.servers", brokers.joined(separator: ",")),
            ("security.protocol", protocols[(sasl != nil ? 2 : 0) + (usesTLS ? 1 : 0)]),
        ]
        if let ca { list.append(("ssl.ca.location", ca)) }
        if let certificate { list.append(("ssl.certificate.location", certificate)) }
        if let key { list.append(("ssl.key.location", key)) }
        if let keyPassword { list.append(("ssl.key.password", keyPassword)) }
        if let sasl {
            list.append(("sasl.mechanism", sasl.mechanism.rawValue))
            list.append(("sasl.username", sasl.user))
            list.append(("sasl.password", sasl.password))
        }
        return list + (properties ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value.text) }
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        guard !brokers.isEmpty, brokers.count <= 100 else {
            throw SinkError("settings.brokers: must name 1 to 100 brokers, such as [\"localhost:9092\"]")
        }
        for broker in brokers where broker.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ",") }) {
            throw SinkError("settings.brokers: \"\(broker)\" is not one address; write each host:port as an item")
        }
        if (certificate == nil) != (key == nil) {
            throw SinkError(
                "settings.\(key == nil ? "tls_key" : "tls_certificate"): is missing; "
                    + "set tls_certificate and tls_key, or neither")
        }
        if tls == false, ca != nil || certificate != nil {
            throw SinkError("settings.tls: is false, but tls_ca or tls_certificate is set; remove one of them")
        }
        try connectTimeout?.check("connect_timeout", .milliseconds(100)...(.seconds(60)))
        for name in (properties ?? [:]).keys.sorted() {
            if let why = KafkaProperty.refusal(of: name) {
                throw SinkError("settings.properties.\(name): \(why)")
            }
        }
    }
}
