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
        var username: String
        var password: String
    }

    /// Members of a schema's "properties".
    static let schema = """
        "brokers": {"type": "array", "items": {"type": "string", "minLength": 1},
            "description": "host:port of some of the cluster's brokers; the others are found through them"},
        \(TLSSettings.schema),
        "tls_key_password": {"type": "string"},
        "sasl": {"type": "object", "required": ["mechanism", "username", "password"], "additionalProperties": false,
            "properties": {
                "mechanism": {"type": "string", "enum": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]},
                "username": {"type": "string"}, "password": {"type": "string"}}},
        "connect_timeout": {"type": "string", "description": "to find the topic when connecting; default: 10s"},
        "properties": {"type": "object",
            "description": "more properties of librdkafka, such as linger.ms or message.max.bytes"}
        """

    private enum CodingKeys: String, CodingKey {
        case brokers, sasl, properties
        case keyPassword = "tls_key_password"
        case connectTimeout = "connect_timeout"
    }

    var brokers: [String]
    var tls: TLSSettings
    var keyPassword: String?
    var sasl: SASL?
    var connectTimeout: DurationSetting?
    var properties: [String: KafkaProperty]?

    var timeout: Duration { connectTimeout?.duration ?? .seconds(10) }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        brokers = try values.decode([String].self, forKey: .brokers)
        tls = try TLSSettings(from: decoder)
        keyPassword = try values.decodeIfPresent(String.self, forKey: .keyPassword)
        sasl = try values.decodeIfPresent(SASL.self, forKey: .sasl)
        connectTimeout = try values.decodeIfPresent(DurationSetting.self, forKey: .connectTimeout)
        properties = try values.decodeIfPresent([String: KafkaProperty].self, forKey: .properties)
    }

    /// librdkafka's properties for these settings. Those of `properties` come last.
    var configuration: [(name: String, value: String)] {
        let protocols = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]
        var list = [
            ("bootstrap.servers", brokers.joined(separator: ",")),
            ("security.protocol", protocols[(sasl != nil ? 2 : 0) + (tls.isUsed() ? 1 : 0)]),
        ]
        if let ca = tls.authorities { list.append(("ssl.ca.location", ca)) }
        if let certificate = tls.certificate { list.append(("ssl.certificate.location", certificate)) }
        if let key = tls.key { list.append(("ssl.key.location", key)) }
        if let keyPassword { list.append(("ssl.key.password", keyPassword)) }
        if let sasl {
            list.append(("sasl.mechanism", sasl.mechanism.rawValue))
            list.append(("sasl.username", sasl.username))
            list.append(("sasl.password", sasl.password))
        }
        return list + (properties ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value.text) }
    }

    /// - Throws: an error that names the invalid setting.
    func validate(for use: KafkaProperty.Use) throws(SinkError) {
        guard !brokers.isEmpty, brokers.count <= 100 else {
            throw SinkError("settings.brokers: must name 1 to 100 brokers, such as [\"localhost:9092\"]")
        }
        for broker in brokers where broker.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ",") }) {
            throw SinkError("settings.brokers: \"\(broker)\" is not one address; write each host:port as an item")
        }
        try tls.validate()
        try connectTimeout?.check("connect_timeout", .milliseconds(100)...(.seconds(60)))
        for name in (properties ?? [:]).keys.sorted() {
            if let why = KafkaProperty.refusal(of: name, use) {
                throw SinkError("settings.properties.\(name): \(why)")
            }
        }
    }
}
