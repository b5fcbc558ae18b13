import CKafka
import PenstockPluginKit

/// What a cluster says of a topic.
enum KafkaMetadata {
    struct Problem: Equatable {
        var text: String
        /// No broker answered at all.
        var isOfCluster: Bool
    }

    /// The number of partitions of a topic; nil: nobody tells.
    static func partitions(of name: String, _ handle: OpaquePointer, within time: Duration) -> Int? {
        guard let topic = unsafe rd_kafka_topic_new(handle, name, nil) else { return nil }
        defer { unsafe rd_kafka_topic_destroy(topic) }
        var list: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(handle, 0, topic, &list, Int32(clamping: time.wholeMilliseconds))
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = unsafe list?.pointee else { return nil }
        defer { unsafe rd_kafka_metadata_destroy(list) }
        guard unsafe metadata.topic_cnt == 1, unsafe metadata.topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return nil
        }
        let count = unsafe Int(metadata.topics[0].partition_cnt)
        return count > 0 ? count : nil
    }

    /// Asks a broker, and waits for the answer.
    /// - Parameters:
    ///   - name: nil: asks only whether a broker answers.
    ///   - setting: the setting with the topic's name, for the text.
    /// - Returns: nil: the topic can be used.
    static func problem(
        of name: String?, _ setting: String, _ handle: OpaquePointer, within time: Duration
    ) -> Problem? {
        let topic = unsafe name.flatMap { unsafe rd_kafka_topic_new(handle, $0, nil) }
        defer { if let topic = unsafe topic { unsafe rd_kafka_topic_destroy(topic) } }
        var list: UnsafePointer<rd_kafka_metadata>?
        let code = unsafe rd_kafka_metadata(handle, 0, topic, &list, Int32(clamping: time.wholeMilliseconds))
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return Problem(text: "no broker answers: \(KafkaError(code: code).message)", isOfCluster: true)
        }
        defer { unsafe rd_kafka_metadata_destroy(list) }
        guard let name, let metadata = unsafe list?.pointee, unsafe metadata.topic_cnt > 0 else { return nil }
        let error = unsafe KafkaError(code: metadata.topics[0].err)
        switch error.code {
        case RD_KAFKA_RESP_ERR_NO_ERROR: return nil
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
            return Problem(
                text: "the topic \(name) does not exist: create it, or change settings.\(setting)", isOfCluster: false)
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            return Problem(
                text: "the topic \(name) may not be used: \(error.message); permit it to the user of settings.sasl",
                isOfCluster: false)
        default: return Problem(text: "the topic \(name) cannot be used: \(error.message)", isOfCluster: false)
        }
    }
}
