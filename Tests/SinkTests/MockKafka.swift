import CKafka
import Foundation
import PluginTesting

/// A cluster of librdkafka's mock brokers in this process, on free ports of 127.0.0.1. It ends with this object. Any
/// thread: the cluster has a lock.
@safe final class MockKafka: @unchecked Sendable {
    struct Message {
        var topic: String
        var partition: Int32
        var key: [UInt8]?
        var value: String
        var headers: [String: String]

        /// The event's position in the journal.
        var position: UInt64? { headers["position"].flatMap { UInt64($0.split(separator: ":")[1]) } }
        var keyText: String? { key.map { String(decoding: $0, as: UTF8.self) } }
    }

    private let handle: OpaquePointer
    let cluster: OpaquePointer

    init(brokers: Int32 = 3) throws {
        let configuration = unsafe rd_kafka_conf_new()
        unsafe rd_kafka_conf_set(configuration, "log_level", "3", nil, 0)
        guard let handle = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, configuration, nil, 0),
            let cluster = unsafe rd_kafka_mock_cluster_new(handle, brokers)
        else { throw TestProblem(description: "no mock cluster") }
        unsafe self.handle = handle
        unsafe self.cluster = cluster
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        unsafe rd_kafka_destroy(handle)
    }

    var addresses: String { unsafe String(cString: rd_kafka_mock_cluster_bootstraps(cluster)) }
    /// A JSON array.
    var brokers: String { "[\(addresses.split(separator: ",").map { "\"\($0)\"" }.joined(separator: ","))]" }

    func create(_ topic: String, partitions: Int32 = 4) {
        unsafe rd_kafka_mock_topic_create(cluster, topic, partitions, 1)
    }

    /// Answers requests for the topic's metadata with an error.
    func setTopicError(_ topic: String, _ error: rd_kafka_resp_err_t) {
        unsafe rd_kafka_mock_topic_set_error(cluster, topic, error)
    }

    /// The next produce requests fail with these errors, one after the other.
    func fail(_ errors: [rd_kafka_resp_err_t]) {
        unsafe rd_kafka_mock_push_request_errors_array(cluster, 0, errors.count, errors)
    }

    /// -1: all brokers.
    func setDown(_ broker: Int32) { unsafe rd_kafka_mock_broker_set_down(cluster, broker) }
    func setUp(_ broker: Int32) { unsafe rd_kafka_mock_broker_set_up(cluster, broker) }
    func setDelay(_ milliseconds: Int32) { unsafe rd_kafka_mock_broker_set_rtt(cluster, -1, milliseconds) }
    func setLeader(_ topic: String, _ partition: Int32, _ broker: Int32) {
        unsafe rd_kafka_mock_partition_set_leader(cluster, topic, partition, broker)
    }

    /// All messages of the topics, each partition in its order.
    ///
    /// The end of each partition is asked for before reading.
    func messages(_ topics: [String: Int32]) throws -> [Message] {
        let configuration = unsafe rd_kafka_conf_new()
        for (name, value) in [
            ("bootstrap.servers", addresses), ("group.id", "test"), ("auto.offset.reset", "earliest"),
            ("enable.auto.commit", "false"),
        ] { unsafe rd_kafka_conf_set(configuration, name, value, nil, 0) }
        guard let consumer = unsafe rd_kafka_new(RD_KAFKA_CONSUMER, configuration, nil, 0) else {
            throw TestProblem(description: "no consumer")
        }
        defer { unsafe rd_kafka_destroy(consumer) }
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        // The offset of the last message of each partition that is not read to its end.
        var left: [Partition: Int64] = [:]
        for (topic, partitions) in topics {
            for partition in 0..<partitions {
                var (low, high): (Int64, Int64) = (0, 0)
                let code = unsafe rd_kafka_query_watermark_offsets(consumer, topic, partition, &low, &high, 10_000)
                guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                    let text = unsafe String(cString: rd_kafka_err2str(code))
                    throw TestProblem(description: "\(topic), partition \(partition): \(text)")
                }
                if high > low { left[Partition(topic: topic, number: partition)] = high - 1 }
                unsafe rd_kafka_topic_partition_list_add(list, topic, partition).pointee.offset = low
            }
        }
        unsafe rd_kafka_poll_set_consumer(consumer)
        unsafe rd_kafka_assign(consumer, list)
        var messages: [Message] = []
        let end = Date() + 30
        while !left.isEmpty {
            guard Date() < end else {
                throw TestProblem(description: "not read to the end: \(left); read: \(messages.count)")
            }
            guard let message = unsafe rd_kafka_consumer_poll(consumer, 100) else { continue }
            defer { unsafe rd_kafka_message_destroy(message) }
            guard unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
            let read = unsafe Self.read(message)
            messages.append(read)
            let partition = Partition(topic: read.topic, number: read.partition)
            if let last = left[partition], unsafe message.pointee.offset >= last { left[partition] = nil }
        }
        return messages
    }

    private struct Partition: Hashable {
        var topic: String
        var number: Int32
    }

    private static func read(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> Message {
        let it = unsafe message.pointee
        var headers: [String: String] = [:]
        var list: OpaquePointer?
        if unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR {
            var (name, value): (UnsafePointer<CChar>?, UnsafeRawPointer?)
            var (index, size) = (0, 0)
            while unsafe rd_kafka_header_get_all(list, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR {
                if let name = unsafe name {
                    headers[unsafe String(cString: name)] = unsafe String(
                        decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
                }
                index += 1
            }
        }
        return unsafe Message(
            topic: String(cString: rd_kafka_topic_name(it.rkt)), partition: it.partition,
            key: it.key.map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: it.key_len)) },
            value: String(decoding: UnsafeRawBufferPointer(start: it.payload, count: it.len), as: UTF8.self),
            headers: headers)
    }
}
