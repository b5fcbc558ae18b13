import CNats
import PenstockPluginKit

/// JetStream's interface on one connection. Any thread.
///
/// Unsafe part: the library's handle, valid until the last reference. The connection must outlive it.
@safe final class JetStream: @unchecked Sendable {
    /// What the source has to know of a stream.
    struct StreamFacts {
        var retention = js_LimitsPolicy
        var first: UInt64 = 0
        var last: UInt64 = 0
        var replicas: Int64 = 1
    }

    let handle: OpaquePointer
    let connection: NATSConnection

    /// - Parameter timeout: of each request, in milliseconds.
    init(_ connection: NATSConnection, timeout: Int64) throws(NATSError) {
        var options = unsafe jsOptions()
        unsafe jsOptions_Init(&options)
        unsafe options.Wait = timeout
        var handle: OpaquePointer?
        try NATSError.check(unsafe natsConnection_JetStream(&handle, connection.handle, &options))
        guard let handle = unsafe handle else { throw NATSError(NATS_NO_MEMORY) }
        unsafe self.handle = handle
        self.connection = connection
    }

    deinit { unsafe jsCtx_Destroy(handle) }

    /// - Returns: nil: the stream does not exist.
    func stream(_ name: String) throws(NATSError) -> StreamFacts? {
        var info: UnsafeMutablePointer<jsStreamInfo>?
        var code = jsErrCode(rawValue: 0)
        let status = unsafe js_GetStreamInfo(&info, handle, name, nil, &code)
        defer { unsafe jsStreamInfo_Destroy(info) }
        if status == NATS_NOT_FOUND || code == JSStreamNotFoundErr { return nil }
        try NATSError.check(status)
        guard let info = unsafe info?.pointee, let configuration = unsafe info.Config else { throw NATSError(NATS_ERR) }
        return unsafe StreamFacts(
            retention: configuration.pointee.Retention, first: info.State.FirstSeq, last: info.State.LastSeq,
            replicas: configuration.pointee.Replicas)
    }
}
