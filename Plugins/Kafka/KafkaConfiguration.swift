import CKafka
import PenstockPluginKit

/// librdkafka's configuration of a client.
@safe struct KafkaConfiguration {
    /// What `settings.properties` may replace.
    static let defaults = [(name: "client.id", value: "penstock")]

    /// What follows from the settings of a destination.
    static func producer(_ settings: KafkaSettings, isolates: Bool) -> [(name: String, value: String)] {
        var list = [
            ("enable.idempotence", "true"), ("acks", "all"),
            // The sink gives up first, on all messages at once: a message that the library gives up on would be
            // overtaken by the next one.
            ("message.timeout.ms", "\(2 * settings.timeout.duration.wholeMilliseconds + 10_000)"),
            ("partitioner", settings.partitioner.rawValue), ("compression.codec", settings.compression.rawValue),
            // The sink's window bounds the queue. These bounds are above it.
            ("queue.buffering.max.messages", "\(KafkaSink.maximumBatchEvents * settings.batches + 1)"),
            ("queue.buffering.max.kbytes", "\(1 << 20)"),
            ("log.queue", "true"),
        ]
        // With the guarantee, the library itself stops at a message that fails, before it sends the next one. A
        // producer that isolates may leave gaps: what a broker refuses there is rejected and not offered again.
        list.append(isolates ? ("batch.num.messages", "1") : ("enable.gapless.guarantee", "true"))
        return list
    }

    /// A configuration of a list of properties. A later value replaces an earlier one.
    /// - Throws: an error that names the property.
    static func make(_ properties: [(name: String, value: String)]) throws(SinkError) -> OpaquePointer {
        guard let configuration = unsafe rd_kafka_conf_new() else { throw SinkError("out of memory") }
        var error = [CChar](repeating: 0, count: 512)
        for (name, value) in properties {
            let result = unsafe rd_kafka_conf_set(configuration, name, value, &error, error.count)
            guard result == RD_KAFKA_CONF_OK else {
                unsafe rd_kafka_conf_destroy(configuration)
                throw SinkError("settings.properties.\(name): \(text(error))")
            }
        }
        return unsafe configuration
    }

    /// - Throws: an error that names the property.
    static func makeProducer(_ properties: [(name: String, value: String)]) throws(SinkError) -> OpaquePointer {
        let configuration = unsafe try make(properties)
        unsafe rd_kafka_conf_set_events(
            configuration, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        var error = [CChar](repeating: 0, count: 512)
        // Takes the configuration, unless it fails.
        guard let handle = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, configuration, &error, error.count) else {
            unsafe rd_kafka_conf_destroy(configuration)
            throw SinkError("settings: \(text(error))")
        }
        return unsafe handle
    }

    static func text(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
