import CKafka

/// The library's list of partitions.
struct PartitionList {
    private let items: [(KafkaPartition, Int64?)]

    /// - Parameter items: an offset of nil is "none".
    init(_ items: [(KafkaPartition, Int64?)]) { self.items = items }

    init(_ partitions: [KafkaPartition]) { items = partitions.map { ($0, nil) } }

    /// - Parameter body: must not keep the list.
    func with<Value>(_ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?) -> Value) -> Value {
        let list = unsafe rd_kafka_topic_partition_list_new(Int32(clamping: items.count))
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        for (partition, offset) in items {
            let item = unsafe rd_kafka_topic_partition_list_add(list, partition.topic, partition.number)
            if let offset { unsafe item?.pointee.offset = offset }
        }
        return unsafe body(list)
    }

    static func read(
        _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) -> [(partition: KafkaPartition, offset: Int64, error: KafkaError?)] {
        guard let list = unsafe list?.pointee else { return [] }
        return unsafe (0..<Int(list.cnt)).map { index in
            let item = unsafe list.elems[index]
            let error = unsafe item.err == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code: item.err)
            return unsafe (
                KafkaPartition(topic: String(cString: item.topic), number: item.partition), item.offset, error
            )
        }
    }
}
