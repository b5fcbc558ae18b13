import CKafka
import Synchronization

/// Knows whether a member is joining its group: from the request to join until the answer with the member's partitions.
///
/// librdkafka 2.0 writes the group's generation into a commit when it is called, and sends it after the answer to the
/// join, when another generation has begun. The broker refuses it, and the library gives up all partitions. So nothing
/// is committed meanwhile.
final class KafkaJoins: Sendable {
    private static let joinGroup: Int16 = 11
    private static let syncGroup: Int16 = 14

    private let joining = Atomic(false)
    private let begun = Atomic(false)

    var isJoining: Bool { joining.load(ordering: .acquiring) }
    /// Whether it has asked to join at least once.
    var hasBegun: Bool { begun.load(ordering: .acquiring) }

    /// - Parameter configuration: of a client that must not outlive this object.
    func observe(_ configuration: OpaquePointer) {
        let opaque = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe rd_kafka_conf_interceptor_add_on_new(configuration, "penstock", didCreate, opaque)
    }

    fileprivate func sent(_ request: Int16) {
        guard request == Self.joinGroup else { return }
        begun.store(true, ordering: .releasing)
        joining.store(true, ordering: .releasing)
    }

    fileprivate func received(_ request: Int16) {
        if request == Self.syncGroup { joining.store(false, ordering: .releasing) }
    }
}

// File-level functions: a closure literal could be inferred as `@MainActor`. The library calls them on its threads.

private func didCreate(
    _ client: OpaquePointer?, _: OpaquePointer?, _ opaque: UnsafeMutableRawPointer?,
    _: UnsafeMutablePointer<CChar>?, _: Int
) -> rd_kafka_resp_err_t {
    unsafe rd_kafka_interceptor_add_on_request_sent(client, "penstock", didSend, opaque)
    return unsafe rd_kafka_interceptor_add_on_response_received(client, "penstock", didReceive, opaque)
}

private func didSend(
    _: OpaquePointer?, _: Int32, _: UnsafePointer<CChar>?, _: Int32, _ request: Int16, _: Int16, _: Int32, _: Int,
    _ opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    if let opaque = unsafe opaque {
        unsafe Unmanaged<KafkaJoins>.fromOpaque(opaque).takeUnretainedValue().sent(request)
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}

private func didReceive(
    _: OpaquePointer?, _: Int32, _: UnsafePointer<CChar>?, _: Int32, _ request: Int16, _: Int16, _: Int32, _: Int,
    _: Int64, _: rd_kafka_resp_err_t, _ opaque: UnsafeMutableRawPointer?
) -> rd_kafka_resp_err_t {
    if let opaque = unsafe opaque {
        unsafe Unmanaged<KafkaJoins>.fromOpaque(opaque).takeUnretainedValue().received(request)
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR
}
