import CNats

/// A message that the server or another client sent to the inbox. Valid during the call that passes it.
@safe struct NATSReply {
    private let handle: OpaquePointer

    init(_ message: OpaquePointer) { unsafe handle = message }

    var subject: String { unsafe natsMsg_GetSubject(handle).map { unsafe String(cString: $0) } ?? "" }

    /// The server's answer to a message that no stream captures.
    var meansNoResponders: Bool { unsafe natsMsg_IsNoResponders(handle) }

    var content: [UInt8] {
        let count = unsafe Int(natsMsg_GetDataLength(handle))
        guard count > 0, let data = unsafe natsMsg_GetData(handle) else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: data, count: count))
    }
}
