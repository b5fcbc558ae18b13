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

    /// What `settings.properties` may replace in a source. The library's own bounds are 64 MB for a queue and 50 MB for
    /// an answer, more than a plugin's process should take.
    static let sourceDefaults =
        defaults + [
            ("queued.max.messages.kbytes", "16384"), ("fetch.max.bytes", "16777216"),
            ("topic.metadata.refresh.interval.ms", "30000"),
        ]

    /// What follows from the settings of a source.
    static func consumer(_ settings: KafkaSourceSettings) -> [(name: String, value: String)] {
        [
            ("group.id", settings.group), ("partition.assignment.strategy", "cooperative-sticky"),
            ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
            // The source itself decides where to go on, and reports what is lost.
            ("auto.offset.reset", "error"), ("enable.partition.eof", "false"), ("log.queue", "true"),
        ]
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

    /// Checks properties without a connection.
    /// - Throws: an error that names the property.
    static func check(_ properties: [(name: String, value: String)]) throws(SinkError) {
        unsafe rd_kafka_conf_destroy(try make(properties))
    }

    /// - Throws: an error that names the property.
    static func makeProducer(_ properties: [(name: String, value: String)]) throws(SinkError) -> OpaquePointer {
        unsafe try makeClient(
            RD_KAFKA_PRODUCER, properties, events: RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
    }

    /// - Throws: an error that names the property.
    static func makeConsumer(
        _ properties: [(name: String, value: String)], _ joins: KafkaJoins
    ) throws(SinkError) -> OpaquePointer {
        unsafe try makeClient(
            RD_KAFKA_CONSUMER, properties, joins,
            events: RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR
                | RD_KAFKA_EVENT_LOG)
    }

    private static func makeClient(
        _ type: rd_kafka_type_t, _ properties: [(name: String, value: String)], _ joins: KafkaJoins? = nil,
        events: Int32
    ) throws(SinkError) -> OpaquePointer {
        let configuration = unsafe try make(properties)
        unsafe rd_kafka_conf_set_events(configuration, events)
        if let joins { unsafe joins.observe(configuration) }
        var error = [CChar](repeating: 0, count: 512)
        // Takes the configuration, unless it fails.
        guard let handle = unsafe rd_kafka_new(type, configuration, &error, error.count) else {
            unsafe rd_kafka_conf_destroy(configuration)
            throw SinkError("settings: \(text(error))")
        }
        return unsafe handle
    }

    static func text(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
