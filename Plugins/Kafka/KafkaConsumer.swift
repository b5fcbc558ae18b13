import CKafka
import PenstockPluginKit

/// A message, valid only while it is handled.
@safe struct KafkaMessage {
    /// The topic's address in the library, and the partition: quicker to compare than names.
    struct Place: Hashable {
        var topic: UInt
        var partition: Int32
    }

    var place: Place
    var offset: Int64
    /// nil: a tombstone, which only says that a compacted log has deleted the key.
    var value: UnsafeRawBufferPointer?
    fileprivate var topic: OpaquePointer?
    fileprivate var message: UnsafePointer<rd_kafka_message_t>

    /// A header field; nil: the message has none of that name.
    func header(_ name: String) -> String? {
        var headers: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        var value: UnsafeRawPointer?
        var size = 0
        guard unsafe rd_kafka_header_get_last(headers, name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR else {
            return nil
        }
        return unsafe String(decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
    }

    /// Makes a new string.
    var partition: KafkaPartition {
        let name = unsafe rd_kafka_topic_name(topic).map { unsafe String(cString: $0) } ?? ""
        return KafkaPartition(topic: name, number: place.partition)
    }
}

/// What a consumer reports, besides messages.
enum KafkaConsumerEvent {
    /// Waits for `assign`.
    case assigned([KafkaPartition])
    /// Waits for `unassign`. Lost: another member may read them already.
    case revoked([KafkaPartition], isLost: Bool)
    /// The log does not have the next offset. The partition waits to be assigned again.
    case outOfRange(KafkaPartition)
    case committed([KafkaPartition], KafkaError?)
    case failed(KafkaError, String)
    case fatal(String)
    case log(HostServices.Level, String)
}

/// A member of a consumer group. One thread at a time; `wake` and the creation may be on others.
///
/// Unsafe part: the library's handle and its queue, valid until `close`.
@safe final class KafkaConsumer: @unchecked Sendable {
    private let handle: OpaquePointer
    private let queue: OpaquePointer?
    private let joins = KafkaJoins()
    /// The group has shared out its partitions since this consumer exists, perhaps without any for it.
    private var wasAssigned = false

    init(_ properties: [(name: String, value: String)]) throws(SourceError) {
        unsafe handle = try KafkaConfiguration.makeConsumer(properties, joins)
        unsafe rd_kafka_poll_set_consumer(handle)
        unsafe queue = rd_kafka_queue_get_consumer(handle)
        unsafe rd_kafka_set_log_queue(handle, nil)
    }

    /// Any thread, before `close`: ends a `poll` that waits.
    func wake() { unsafe rd_kafka_queue_yield(queue) }

    func metadataProblem(of topic: String?, within time: Duration) -> KafkaMetadata.Problem? {
        unsafe KafkaMetadata.problem(of: topic, "topics", handle, within: time)
    }

    func subscribe(_ topics: [String]) throws(SourceError) {
        let code = unsafe PartitionList(topics.map { (KafkaPartition(topic: $0, number: -1), nil) })
            .with { unsafe rd_kafka_subscribe(handle, $0) }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw SourceError("settings.topics: cannot be read: \(KafkaError(code: code).message)")
        }
    }

    /// Waits for one message or event. A member that does not poll for max.poll.interval.ms leaves its group.
    /// - Returns: whether there was one.
    func poll(
        _ time: Duration, onMessage: (KafkaMessage) -> Void, onEvent: (KafkaConsumerEvent) -> Void
    ) -> Bool {
        unsafe poll(queue, time, onMessage: onMessage, onEvent: onEvent)
    }

    /// Reading begins at these offsets.
    func assign(_ starts: [(KafkaPartition, Int64?)]) throws(KafkaError) {
        wasAssigned = true
        unsafe try check(PartitionList(starts).with { unsafe rd_kafka_incremental_assign(handle, $0) })
    }

    func unassign(_ partitions: [KafkaPartition]) throws(KafkaError) {
        unsafe try check(PartitionList(partitions).with { unsafe rd_kafka_incremental_unassign(handle, $0) })
    }

    func pause(_ partitions: [KafkaPartition]) {
        _ = unsafe PartitionList(partitions).with { unsafe rd_kafka_pause_partitions(handle, $0) }
    }

    func resume(_ partitions: [KafkaPartition]) {
        _ = unsafe PartitionList(partitions).with { unsafe rd_kafka_resume_partitions(handle, $0) }
    }

    /// The group's offsets. A partition without one is left out.
    func committed(_ partitions: [KafkaPartition], within time: Duration) throws(KafkaError) -> [KafkaPartition: Int64]
    {
        let (code, results) = unsafe PartitionList(partitions).with { list in
            let code = unsafe rd_kafka_committed(handle, list, Self.milliseconds(time))
            return unsafe (code, PartitionList.read(list))
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code: code) }
        if let error = results.compactMap(\.error).first { throw error }
        let found = results.filter { $0.offset >= 0 }.map { ($0.partition, $0.offset) }
        return Dictionary(found, uniquingKeysWith: max)
    }

    /// The logs of partitions. Two requests to each of their brokers. A partition whose broker does not answer is left
    /// out.
    func logs(
        _ partitions: [KafkaPartition], within time: Duration
    ) -> (logs: [KafkaPartition: KafkaStart.Log], error: KafkaError?) {
        var error: KafkaError?
        // An "offset" of such a lookup is a time, and these two are times as well.
        let bounds = [Int64(RD_KAFKA_OFFSET_BEGINNING), Int64(RD_KAFKA_OFFSET_END)].map { end in
            let list = PartitionList(partitions.map { ($0, end) })
            let (code, results) = unsafe list.with { list in
                let code = unsafe rd_kafka_offsets_for_times(handle, list, Self.milliseconds(time))
                return unsafe (code, PartitionList.read(list))
            }
            if code != RD_KAFKA_RESP_ERR_NO_ERROR { error = KafkaError(code: code) }
            error = results.compactMap(\.error).first ?? error
            let found = results.filter { $0.error == nil && $0.offset >= 0 }.map { ($0.partition, $0.offset) }
            return code == RD_KAFKA_RESP_ERR_NO_ERROR ? Dictionary(found, uniquingKeysWith: max) : [:]
        }
        var logs: [KafkaPartition: KafkaStart.Log] = [:]
        for partition in partitions {
            guard let first = bounds[0][partition], let end = bounds[1][partition], end >= first else { continue }
            logs[partition] = KafkaStart.Log(first: first, end: end)
        }
        return (logs, error)
    }

    /// Whether the group is about to share its partitions anew. A commit would come too late, and the library would
    /// take the answer as the loss of all partitions.
    var isJoining: Bool { joins.isJoining }

    /// Commits offsets.
    /// - Returns: whether `committed` follows as an event.
    func commit(_ offsets: [(KafkaPartition, Int64?)]) -> Bool {
        unsafe PartitionList(offsets).with { unsafe rd_kafka_commit_queue(handle, $0, queue, nil, nil) }
            == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// Commits offsets, and waits for the answer.
    func commit(_ offsets: [(KafkaPartition, Int64?)], within time: Duration) throws(KafkaError) {
        guard let answers = unsafe rd_kafka_queue_new(handle) else { return }
        defer { unsafe rd_kafka_queue_destroy(answers) }
        let code = unsafe PartitionList(offsets)
            .with { unsafe rd_kafka_commit_queue(handle, $0, answers, nil, nil) }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code: code) }
        var failure: KafkaError? = KafkaError(code: RD_KAFKA_RESP_ERR__TIMED_OUT)
        _ = unsafe poll(answers, time, onMessage: { _ in }) { event in
            if case .committed(_, let error) = event { failure = error }
        }
        if let failure { throw failure }
    }

    /// Leaves the group, as long as the coordinator answers within the time. The last call.
    func close(within time: Duration) {
        let end = ContinuousClock.now + time
        while wouldAbort, ContinuousClock.now < end { giveUpPartitions() }
        if let error = unsafe rd_kafka_consumer_close_queue(handle, queue) { unsafe rd_kafka_error_destroy(error) }
        while unsafe rd_kafka_consumer_closed(handle) == 0, ContinuousClock.now < end { giveUpPartitions() }
        let isClosed = unsafe rd_kafka_consumer_closed(handle) != 0
        if wouldAbort {
            // Kept until the process ends, which it does soon after a stop.
            unsafe _ = Unmanaged.passRetained(joins)
            return
        }
        unsafe rd_kafka_queue_destroy(queue)
        unsafe rd_kafka_destroy_flags(handle, isClosed ? 0 : RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }

    /// Before its version 2.3, the library aborts when a member is destroyed between its first join and its first
    /// partitions (confluentinc/librdkafka#4312). The group may be shared out anew again and again in between.
    private var wouldAbort: Bool { !wasAssigned && joins.hasBegun && rd_kafka_version() < 0x0203_0000 }

    /// Answers what the group asks meanwhile.
    private func giveUpPartitions() {
        _ = poll(.milliseconds(20), onMessage: { _ in }) { event in
            switch event {
            case .assigned: try? assign([])
            case .revoked(let partitions, _): try? unassign(partitions)
            default: break
            }
        }
    }

    private func poll(
        _ queue: OpaquePointer?, _ time: Duration, onMessage: (KafkaMessage) -> Void,
        onEvent: (KafkaConsumerEvent) -> Void
    ) -> Bool {
        guard let event = unsafe rd_kafka_queue_poll(queue, Self.milliseconds(time)) else { return false }
        defer { unsafe rd_kafka_event_destroy(event) }
        let type = unsafe rd_kafka_event_type(event)
        if type == RD_KAFKA_EVENT_FETCH {
            while let message = unsafe rd_kafka_event_message_next(event) {
                if let message = unsafe Self.read(message) { onMessage(message) }
            }
        } else if let event = unsafe read(event, type) {
            onEvent(event)
        }
        return true
    }

    private static func read(_ pointer: UnsafePointer<rd_kafka_message_t>) -> KafkaMessage? {
        let message = unsafe pointer.pointee
        guard unsafe message.err == RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        return unsafe KafkaMessage(
            place: .init(topic: UInt(bitPattern: message.rkt), partition: message.partition), offset: message.offset,
            value: message.payload.map { unsafe UnsafeRawBufferPointer(start: $0, count: message.len) },
            topic: message.rkt, message: pointer)
    }

    private func read(_ event: OpaquePointer, _ type: rd_kafka_event_type_t) -> KafkaConsumerEvent? {
        let error = unsafe KafkaError(code: rd_kafka_event_error(event))
        switch type {
        case RD_KAFKA_EVENT_REBALANCE:
            let partitions = unsafe PartitionList.read(rd_kafka_event_topic_partition_list(event)).map(\.partition)
            if error.code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS { return .assigned(partitions) }
            return .revoked(partitions, isLost: unsafe rd_kafka_assignment_lost(handle) != 0)
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
            let results = unsafe PartitionList.read(rd_kafka_event_topic_partition_list(event))
            let failed = error.code == RD_KAFKA_RESP_ERR_NO_ERROR ? results.first { $0.error != nil }?.error : error
            return .committed(results.map(\.partition), failed)
        case RD_KAFKA_EVENT_ERROR:
            if error.code == RD_KAFKA_RESP_ERR__FATAL {
                var buffer = [CChar](repeating: 0, count: 512)
                let code = unsafe rd_kafka_fatal_error(handle, &buffer, buffer.count)
                return .fatal("fatal error \(KafkaError(code: code).message): \(KafkaConfiguration.text(buffer))")
            }
            if error.code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, let place = unsafe Self.partition(event) {
                return .outOfRange(place)
            }
            return .failed(error, unsafe KafkaLog.text(event))
        case RD_KAFKA_EVENT_LOG: return unsafe KafkaLog.read(event).map { .log($0.level, $0.line) }
        default: return nil
        }
    }

    private static func partition(_ event: OpaquePointer) -> KafkaPartition? {
        guard let place = unsafe rd_kafka_event_topic_partition(event) else { return nil }
        defer { unsafe rd_kafka_topic_partition_destroy(place) }
        return unsafe KafkaPartition(topic: String(cString: place.pointee.topic), number: place.pointee.partition)
    }

    private func check(_ error: OpaquePointer?) throws(KafkaError) {
        guard let error = unsafe error else { return }
        defer { unsafe rd_kafka_error_destroy(error) }
        throw KafkaError(code: unsafe rd_kafka_error_code(error))
    }

    private static func milliseconds(_ time: Duration) -> Int32 { Int32(clamping: max(time, .zero).wholeMilliseconds) }
}
