import CKafka
import Dispatch
import PenstockPluginKit
import Synchronization

/// One producer, and the thread that reads its events. After its first failure it sends nothing more: a new one takes
/// its place. Any thread.
///
/// Unsafe part: the library's handle, valid until `close`. The library's functions may be called by any thread.
@safe final class KafkaProducer: @unchecked Sendable {
    /// Why the producer is not used any more.
    struct Failure {
        var reason: String
        /// The next producer is to send one message per request, to find the message that a broker refuses.
        var needsIsolation = false
    }

    private static let pollTime: Int32 = 500
    /// How long `close` waits for the acknowledgements of what was sent.
    private static let patience: Int32 = 1000

    /// Whether each request has one message.
    let isolates: Bool

    private let handle: OpaquePointer
    private let queue: OpaquePointer?
    private let onReport: @Sendable (_ place: UInt, _ error: KafkaError?) -> Void
    private let check: @Sendable () -> Failure?
    private let host: Host
    private let failed = Mutex<Failure?>(nil)
    private let isStopped = Atomic(false)
    private let polling = DispatchGroup()

    /// - Parameters:
    ///   - onReport: the delivery report of a message.
    ///   - check: called at least twice a second; what it returns is this producer's failure. Both are called on one
    ///     thread.
    init(
        _ properties: [(name: String, value: String)], isolates: Bool, _ host: Host,
        onReport: @escaping @Sendable (_ place: UInt, _ error: KafkaError?) -> Void,
        check: @escaping @Sendable () -> Failure?
    ) throws(SinkError) {
        unsafe handle = try KafkaConfiguration.makeProducer(properties)
        unsafe queue = rd_kafka_queue_get_main(handle)
        unsafe rd_kafka_set_log_queue(handle, nil)
        self.isolates = isolates
        self.host = host
        self.onReport = onReport
        self.check = check
        polling.enter()
        DispatchQueue(label: "penstock.kafka.poll").async { [self] in
            while !isStopped.load(ordering: .acquiring) {
                poll(Self.pollTime)
                if let failure = check() { fail(failure) }
            }
            polling.leave()
        }
    }

    /// nil: it works.
    var failure: Failure? { failed.withLock(\.self) }

    /// Sends a message later. Its report comes on another thread.
    /// - Parameters:
    ///   - partition: nil: the partitioner chooses.
    ///   - place: passed to `onReport`; not 0.
    ///   - key: nil: none.
    func produce(
        topic: String, partition: Int32? = nil, key: [UInt8]?, _ payload: UnsafeRawBufferPointer,
        headers: [(name: String, value: String)], place: UInt
    ) throws(KafkaError) {
        let list = unsafe rd_kafka_headers_new(headers.count)
        for (name, value) in headers {
            unsafe rd_kafka_header_add(list, name, -1, value, value.utf8.count)
        }
        let empty = ""
        let code = unsafe (key ?? []).withUnsafeBytes { bytes in
            unsafe empty.withCString { empty in
                // An address makes an empty value differ from none.
                unsafe ckafka_produce(
                    handle, topic, partition ?? RD_KAFKA_PARTITION_UA, key == nil ? nil : bytes.baseAddress,
                    bytes.count,
                    payload.baseAddress ?? UnsafeRawPointer(empty), payload.count, list,
                    UnsafeMutableRawPointer(bitPattern: place))
            }
        }
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            unsafe rd_kafka_headers_destroy(list)
            throw KafkaError(code: code)
        }
    }

    /// Withdraws all messages without a report: their reports follow, as errors.
    func fail(_ failure: Failure) {
        guard withdraw(failure) else { return }
        host.log(.warning, "the producer is replaced", ["reason": failure.reason])
    }

    /// - Returns: whether this was the first failure.
    @discardableResult
    private func withdraw(_ failure: Failure) -> Bool {
        let isFirst = failed.withLock { failed in
            guard failed != nil else {
                failed = failure
                return true
            }
            if failure.needsIsolation { failed?.needsIsolation = true }
            return false
        }
        guard isFirst else { return false }
        unsafe rd_kafka_purge(
            handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING)
        return true
    }

    /// Ends the thread. No report comes after it. Called once; no other function is called after it.
    func close() {
        if failure == nil { unsafe rd_kafka_flush(handle, Self.patience) }
        withdraw(Failure(reason: "the destination was closed"))
        isStopped.store(true, ordering: .releasing)
        unsafe rd_kafka_queue_yield(queue)
        polling.wait()
        unsafe rd_kafka_queue_destroy(queue)
        unsafe rd_kafka_destroy(handle)
    }

    /// The number of partitions of a topic.
    func partitions(of topic: String, within timeout: Duration) throws(SinkError) -> Int {
        guard let count = unsafe KafkaMetadata.partitions(of: topic, handle, within: timeout) else {
            throw SinkError("no broker tells how many partitions the topic \(topic) has")
        }
        return count
    }

    /// Waits until the brokers answer, and a fixed topic has a leader for each partition.
    func findTopic(_ name: String?, within timeout: Duration) throws(SinkError) {
        let end = ContinuousClock.now + timeout
        while true {
            let wait = max(end - .now, .milliseconds(10))
            guard let problem = unsafe KafkaMetadata.problem(of: name, "topic", handle, within: wait) else { return }
            if ContinuousClock.now + .milliseconds(100) >= end { throw SinkError(problem.text) }
            // A broker that creates topics by itself answers "unknown" at first.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(100))
        }
    }

    private func poll(_ milliseconds: Int32) {
        guard let event = unsafe rd_kafka_queue_poll(queue, milliseconds) else { return }
        defer { unsafe rd_kafka_event_destroy(event) }
        switch unsafe rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            while let message = unsafe rd_kafka_event_message_next(event) {
                let code = unsafe message.pointee.err
                let place = unsafe UInt(bitPattern: message.pointee._private)
                onReport(place, code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code: code))
            }
        case RD_KAFKA_EVENT_ERROR:
            didFail(KafkaError(code: unsafe rd_kafka_event_error(event)), unsafe KafkaLog.text(event))
        case RD_KAFKA_EVENT_LOG: unsafe log(event)
        default: break
        }
    }

    private func didFail(_ error: KafkaError, _ text: String) {
        guard error.code == RD_KAFKA_RESP_ERR__FATAL else {
            return host.log(.info, "librdkafka: \(text)", ["error": error.message])
        }
        var buffer = [CChar](repeating: 0, count: 512)
        let code = unsafe rd_kafka_fatal_error(handle, &buffer, buffer.count)
        fail(Failure(reason: "fatal error \(KafkaError(code: code).message): \(KafkaConfiguration.text(buffer))"))
    }

    /// The library calls this property experimental at each start. The sink sets it, not the operator.
    private func log(_ event: OpaquePointer) {
        guard let (level, line) = unsafe KafkaLog.read(event), !line.contains("gapless.guarantee is experimental")
        else { return }
        host.log(level, line)
    }
}
