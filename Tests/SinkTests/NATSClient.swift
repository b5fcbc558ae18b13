import CNats
import Foundation
import PluginTesting

/// A client that makes and reads streams.
@safe final class NATSClient {
    struct Message {
        var subject: String
        var data: String
        var headers: [String: String]

        /// The event's position in the journal.
        var position: UInt64? { headers["Nats-Msg-Id"].flatMap { UInt64($0.split(separator: ":")[1]) } }
    }

    /// A stream's configuration and state.
    struct Stream {
        var subject = ""
        var isInMemory = false
        var maximumAge: Int64 = 0
        var maximumBytes: Int64 = 0
        var duplicateWindow: Int64 = 0
        var replicas: Int64 = 0
        var count = 0
        var sequences: ClosedRange<UInt64>?
        var leader = ""
    }

    private(set) var connection: OpaquePointer?
    private(set) var context: OpaquePointer?

    /// Waits until JetStream answers.
    init(_ servers: NATSServers, user: String? = nil, password: String? = nil, ca: String? = nil) throws {
        var options: OpaquePointer?
        unsafe natsOptions_Create(&options)
        defer { unsafe natsOptions_Destroy(options) }
        var texts = unsafe servers.ports.map { unsafe strdup("nats://127.0.0.1:\($0)") }
        var list = unsafe texts.map { unsafe UnsafePointer($0) }
        unsafe natsOptions_SetServers(options, &list, Int32(list.count))
        while let text = unsafe texts.popLast() { unsafe free(text) }
        unsafe natsOptions_SetMaxReconnect(options, -1)
        unsafe natsOptions_SetReconnectWait(options, 50)
        if let user { unsafe natsOptions_SetUserInfo(options, user, password) }
        if let ca {
            unsafe natsOptions_SetSecure(options, true)
            unsafe natsOptions_LoadCATrustedCertificates(options, ca)
        }
        var connection: OpaquePointer?
        guard pluginEventually({ unsafe natsConnection_Connect(&connection, options) == NATS_OK }) else {
            throw TestProblem(description: "nats-server does not answer")
        }
        unsafe self.connection = connection
        var js = unsafe jsOptions()
        unsafe jsOptions_Init(&js)
        unsafe js.Wait = 2000
        unsafe natsConnection_JetStream(&context, connection, &js)
        guard
            pluginEventually({
                var info: UnsafeMutablePointer<jsAccountInfo>?
                defer { unsafe jsAccountInfo_Destroy(info) }
                return unsafe js_GetAccountInfo(&info, context, nil, nil) == NATS_OK
            })
        else { throw TestProblem(description: "JetStream does not answer") }
    }

    deinit {
        unsafe jsCtx_Destroy(context)
        unsafe natsConnection_Destroy(connection)
    }

    /// Waits until the stream is created: a cluster needs a leader first.
    func create(
        _ name: String, _ subject: String, replicas: Int64 = 1, maximumMessages: Int64? = nil,
        maximumMessageSize: Int32? = nil
    ) throws {
        let isCreated = unsafe name.withCString { name in
            unsafe subject.withCString { subject in
                var subjects: [UnsafePointer<CChar>?] = unsafe [subject]
                return unsafe subjects.withUnsafeMutableBufferPointer { subjects in
                    var configuration = unsafe jsStreamConfig()
                    unsafe jsStreamConfig_Init(&configuration)
                    unsafe configuration.Name = name
                    unsafe configuration.Subjects = subjects.baseAddress
                    unsafe configuration.SubjectsLen = 1
                    unsafe configuration.Replicas = replicas
                    unsafe configuration.Discard = js_DiscardNew
                    if let maximumMessages { unsafe configuration.MaxMsgs = maximumMessages }
                    if let maximumMessageSize { unsafe configuration.MaxMsgSize = maximumMessageSize }
                    return pluginEventually {
                        unsafe js_AddStream(nil, context, &configuration, nil, nil) == NATS_OK
                    }
                }
            }
        }
        guard isCreated else { throw TestProblem(description: "the stream \(name) cannot be created") }
    }

    func stream(_ name: String) throws -> Stream {
        var info: UnsafeMutablePointer<jsStreamInfo>?
        guard pluginEventually({ unsafe js_GetStreamInfo(&info, context, name, nil, nil) == NATS_OK }),
            let value = unsafe info?.pointee, let configuration = unsafe value.Config?.pointee
        else { throw TestProblem(description: "the stream \(name) cannot be read") }
        defer { unsafe jsStreamInfo_Destroy(info) }
        var stream = Stream()
        stream.subject = unsafe configuration.Subjects[0].map { unsafe String(cString: $0) } ?? ""
        stream.isInMemory = unsafe configuration.Storage == js_MemoryStorage
        (stream.maximumAge, stream.maximumBytes) = unsafe (configuration.MaxAge, configuration.MaxBytes)
        (stream.duplicateWindow, stream.replicas) = unsafe (configuration.Duplicates, configuration.Replicas)
        stream.count = unsafe Int(value.State.Msgs)
        let (first, last) = unsafe (value.State.FirstSeq, value.State.LastSeq)
        if stream.count > 0 { stream.sequences = first...last }
        stream.leader = unsafe value.Cluster?.pointee.Leader.map { unsafe String(cString: $0) } ?? ""
        return stream
    }

    func count(_ name: String) throws -> Int { try stream(name).count }

    /// The index of the server that leads the stream.
    func leader(_ name: String) throws -> Int { try Int(stream(name).leader.dropFirst()) ?? 0 }

    func purge(_ stream: String) { unsafe js_PurgeStream(context, stream, nil, nil) }

    /// All messages of the stream, in its order.
    func messages(_ stream: String) throws -> [Message] {
        guard let sequences = try self.stream(stream).sequences else { return [] }
        return try sequences.compactMap { sequence in
            var message: OpaquePointer?
            var status = NATS_OK
            let isRead = pluginEventually {
                status = unsafe js_GetMsg(&message, context, stream, sequence, nil, nil)
                return status == NATS_OK || status == NATS_NOT_FOUND
            }
            defer { unsafe natsMsg_Destroy(message) }
            if status == NATS_NOT_FOUND { return nil }
            guard isRead, let message = unsafe message else {
                throw TestProblem(description: "message \(sequence) cannot be read")
            }
            return unsafe Self.read(message)
        }
    }

    private static func read(_ message: OpaquePointer) -> Message {
        let count = unsafe Int(natsMsg_GetDataLength(message))
        let bytes = unsafe UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: count)
        let data = unsafe String(decoding: bytes, as: UTF8.self)
        var headers: [String: String] = [:]
        for name in ["Nats-Msg-Id", "Penstock-Kind", "Penstock-Message-Id"] {
            var value: UnsafePointer<CChar>?
            if unsafe natsMsgHeader_Get(message, name, &value) == NATS_OK, let value = unsafe value {
                headers[name] = unsafe String(cString: value)
            }
        }
        return unsafe Message(subject: String(cString: natsMsg_GetSubject(message)), data: data, headers: headers)
    }
}
