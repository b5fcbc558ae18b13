import CKafka
import Foundation
import PluginTesting

/// Logs and offsets of the mock cluster.
extension MockKafka {
    /// Appends messages to a partition, and waits until they are stored. nil: a tombstone.
    func append(_ values: some Sequence<String?>, to topic: String, _ partition: Int32 = 0) throws {
        unsafe try withClient(RD_KAFKA_PRODUCER, [("linger.ms", "5"), ("queue.buffering.max.messages", "1000000")]) {
            client in
            guard let handle = unsafe rd_kafka_topic_new(client, topic, nil) else {
                throw TestProblem(description: "no topic")
            }
            defer { unsafe rd_kafka_topic_destroy(handle) }
            for value in values {
                let bytes = value.map { Array($0.utf8) }
                let isSent = unsafe (bytes ?? []).withUnsafeBytes { payload in
                    // The library takes a copy.
                    let address = unsafe UnsafeMutableRawPointer(mutating: payload.baseAddress)
                    return unsafe rd_kafka_produce(
                        handle, partition, RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK, bytes == nil ? nil : address,
                        payload.count, "k", 1, nil) == 0
                }
                guard isSent else { throw TestProblem(description: "a message was not sent") }
            }
            guard unsafe rd_kafka_flush(client, 60_000) == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw TestProblem(description: "messages were not stored")
            }
        }
    }

    /// Sets the group's offset.
    func commit(_ offset: Int64, _ group: String, _ topic: String, _ partition: Int32 = 0) throws {
        unsafe try withOffsets(group, topic, partition) { client, list in
            unsafe list?.pointee.elems[0].offset = offset
            return unsafe rd_kafka_commit(client, list, 0)
        }
    }

    /// The group's offset; nil: none.
    func committed(_ group: String, _ topic: String, _ partition: Int32 = 0) throws -> Int64? {
        let offset = unsafe try withOffsets(group, topic, partition) { unsafe rd_kafka_committed($0, $1, 10_000) }
        return offset < 0 ? nil : offset
    }

    @discardableResult
    private func withOffsets(
        _ group: String, _ topic: String, _ partition: Int32,
        _ body: (OpaquePointer, UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?) -> rd_kafka_resp_err_t
    ) throws -> Int64 {
        unsafe try withClient(RD_KAFKA_CONSUMER, [("group.id", group)]) { client in
            let list = unsafe rd_kafka_topic_partition_list_new(1)
            defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
            unsafe rd_kafka_topic_partition_list_add(list, topic, partition)
            let code = unsafe body(client, list)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let list = unsafe list else {
                throw TestProblem(description: "offsets: \(code.rawValue)")
            }
            return unsafe list.pointee.elems[0].offset
        }
    }

    private func withClient<Value>(
        _ type: rd_kafka_type_t, _ properties: [(String, String)], _ body: (OpaquePointer) throws -> Value
    ) throws -> Value {
        let configuration = unsafe rd_kafka_conf_new()
        for (name, value) in [("bootstrap.servers", addresses)] + properties {
            unsafe rd_kafka_conf_set(configuration, name, value, nil, 0)
        }
        guard let client = unsafe rd_kafka_new(type, configuration, nil, 0) else {
            throw TestProblem(description: "no client")
        }
        defer { unsafe rd_kafka_destroy(client) }
        return unsafe try body(client)
    }

    /// The next requests of a kind fail with these errors, one after the other.
    func fail(_ request: KafkaRequest, _ errors: [rd_kafka_resp_err_t]) {
        unsafe rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, errors.count, errors)
    }
}

/// The numbers of the protocol's requests.
enum KafkaRequest: Int16, CaseIterable, Sendable {
    case fetch = 1
    case listOffsets = 2
    case metadata = 3
    case offsetCommit = 8
    case offsetFetch = 9
    case findCoordinator = 10
    case joinGroup = 11
    case heartbeat = 12
    case syncGroup = 14
}
