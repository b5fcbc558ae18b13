import CNats
import PenstockPluginKit

/// The check that a stream captures the subject of a destination.
@safe struct NATSStream {
    private let context: OpaquePointer
    private let settings: NATSSettings
    private let name: String

    /// What is known of a stream.
    private struct Facts {
        var subjects: [String]
        /// The most bytes of a message with its header fields; nil: no limit.
        var largest: Int?
    }

    /// - Returns: the most bytes of a message with its header fields that the stream permits; nil: no limit.
    /// - Throws: an error for the operator, if the stream is missing or captures other subjects.
    static func check(
        _ name: String, _ settings: NATSSettings, pattern: String, _ connection: NATSConnection
    ) throws -> Int? {
        var options = unsafe jsOptions()
        unsafe jsOptions_Init(&options)
        unsafe options.Wait = settings.connection.timeout
        var context: OpaquePointer?
        try NATSError.check(unsafe natsConnection_JetStream(&context, connection.handle, &options))
        guard let context = unsafe context else { throw NATSError(NATS_NO_MEMORY) }
        defer { unsafe jsCtx_Destroy(context) }
        let stream = unsafe NATSStream(context: context, settings: settings, name: name)
        let facts = try stream.facts() ?? stream.create(pattern)
        let subjects = facts.subjects
        guard subjects.contains(where: { NATSSubject.captures($0, pattern) }) else {
            throw SinkError(
                "the stream \(name) captures \(subjects.isEmpty ? "no subject" : subjects.joined(separator: ", ")), "
                    + "not \(pattern): add \(pattern) to its subjects, or change settings.subject")
        }
        return facts.largest
    }

    /// - Returns: nil: the stream is missing.
    private func facts() throws -> Facts? {
        var info: UnsafeMutablePointer<jsStreamInfo>?
        var code = jsErrCode(rawValue: 0)
        let status = unsafe js_GetStreamInfo(&info, context, name, nil, &code)
        defer { unsafe jsStreamInfo_Destroy(info) }
        if status == NATS_NOT_FOUND || code == JSStreamNotFoundErr {
            guard settings.create else {
                throw SinkError("the stream \(name) does not exist: create it, or set settings.create: true")
            }
            return nil
        }
        try check(status, "the stream \(name) cannot be read")
        return unsafe Self.facts(info)
    }

    private func create(_ pattern: String) throws -> Facts {
        var configuration = unsafe jsStreamConfig()
        unsafe jsStreamConfig_Init(&configuration)
        unsafe configuration.Replicas = Int64(settings.replicas ?? 1)
        unsafe configuration.Storage = settings.storage == .memory ? js_MemoryStorage : js_FileStorage
        if let age = settings.maxAge { unsafe configuration.MaxAge = age.duration.wholeMilliseconds * 1_000_000 }
        if let bytes = settings.maxBytes { unsafe configuration.MaxBytes = bytes }
        // Events that no aggregator has read must not make room for others.
        if settings.format == .penstock { unsafe configuration.Discard = js_DiscardNew }
        if let window = settings.duplicateWindow {
            unsafe configuration.Duplicates = window.duration.wholeMilliseconds * 1_000_000
        }
        var info: UnsafeMutablePointer<jsStreamInfo>?
        let status = unsafe name.withCString { name in
            unsafe pattern.withCString { pattern in
                var subjects: [UnsafePointer<CChar>?] = unsafe [pattern]
                return unsafe subjects.withUnsafeMutableBufferPointer { subjects in
                    unsafe configuration.Name = name
                    unsafe configuration.Subjects = subjects.baseAddress
                    unsafe configuration.SubjectsLen = 1
                    return unsafe js_AddStream(&info, context, &configuration, nil, nil)
                }
            }
        }
        defer { unsafe jsStreamInfo_Destroy(info) }
        try check(status, "the stream \(name) cannot be created")
        return unsafe Self.facts(info)
    }

    private func check(_ status: natsStatus, _ what: String) throws {
        if status == NATS_OK { return }
        if status == NATS_NO_RESPONDERS {
            throw SinkError("\(what): JetStream is not enabled on the server, or its cluster has no leader")
        }
        throw SinkError("\(what): \(NATSError(status).message)")
    }

    private static func facts(_ info: UnsafeMutablePointer<jsStreamInfo>?) -> Facts {
        guard let configuration = unsafe info?.pointee.Config, let list = unsafe configuration.pointee.Subjects
        else { return Facts(subjects: []) }
        let subjects = unsafe (0..<Int(configuration.pointee.SubjectsLen)).compactMap { index in
            unsafe list[index].map { unsafe String(cString: $0) }
        }
        let largest = unsafe Int(configuration.pointee.MaxMsgSize)
        return Facts(subjects: subjects, largest: largest > 0 ? largest : nil)
    }
}
