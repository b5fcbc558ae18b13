/// The value of a property of librdkafka: a string, a number or a boolean.
struct KafkaProperty: Decodable {
    /// What a connection is used for.
    enum Use { case sink, source }

    var text: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.text = text
        } else if let flag = try? container.decode(Bool.self) {
            text = "\(flag)"
        } else if let number = try? container.decode(Int64.self) {
            text = "\(number)"
        } else if let number = try? container.decode(Double.self) {
            text = "\(number)"
        } else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "is not a string, a number or a boolean")
        }
    }

    /// Why a property may not be set; nil: it may.
    static func refusal(of name: String, _ use: Use) -> String? {
        if let setting = settings[name] ?? (use == .sink ? sinkSettings : sourceSettings)[name] {
            return "is set by settings.\(setting); remove it here"
        }
        if guarantees.contains(name) || (use == .source && sourceGuarantees.contains(name)) {
            return "would change the delivery guarantees; remove it"
        }
        if code.contains(name) || name.hasSuffix("_cb") { return "would load code or start a program; remove it" }
        if name.hasPrefix("test.") { return "is only for librdkafka's own tests; remove it" }
        return nil
    }

    private static let settings = [
        "bootstrap.servers": "brokers", "metadata.broker.list": "brokers", "security.protocol": "tls and settings.sasl",
        "ssl.ca.location": "tls_ca", "ssl.certificate.location": "tls_certificate", "ssl.key.location": "tls_key",
        "ssl.key.password": "tls_key_password", "sasl.mechanism": "sasl.mechanism",
        "sasl.mechanisms": "sasl.mechanism", "sasl.username": "sasl.username", "sasl.password": "sasl.password",
    ]

    private static let sinkSettings = [
        "partitioner": "partitioner", "compression.codec": "compression", "compression.type": "compression",
        "message.timeout.ms": "timeout", "delivery.timeout.ms": "timeout",
        "queue.buffering.max.messages": "batches", "queue.buffering.max.kbytes": "batches",
    ]

    private static let sourceSettings = ["group.id": "group", "auto.offset.reset": "start"]

    private static let guarantees: Set = [
        "enable.idempotence", "acks", "request.required.acks", "transactional.id", "delivery.report.only.error",
        "enable.gapless.guarantee", "produce.offset.report", "log.queue", "background_event_cb", "opaque",
        "default_topic_conf", "enabled_events", "queuing.strategy", "allow.auto.create.topics",
    ]

    private static let sourceGuarantees: Set = [
        "enable.auto.commit", "auto.commit.interval.ms", "enable.auto.offset.store", "offset.store.method",
        "partition.assignment.strategy", "enable.partition.eof", "group.protocol.type", "group.protocol",
    ]

    private static let code: Set = [
        "plugin.library.paths", "ssl.engine.location", "ssl.providers", "sasl.kerberos.kinit.cmd", "interceptors",
    ]
}
