import CNats

/// An error of the library, with its text.
struct NATSError: Error {
    var status: natsStatus
    /// JetStream's own number; 0: there is none.
    var code: UInt32
    var message: String

    init(_ status: natsStatus, _ code: jsErrCode = jsErrCode(rawValue: 0)) {
        self.status = status
        self.code = code.rawValue
        // The thread's last error has the details, unless another call failed since.
        var last = NATS_OK
        var details = unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? ""
        // The place in the library's source: "(conn.c:2088): ".
        if details.hasPrefix("("), let end = details.firstRange(of: "): ") { details.removeSubrange(..<end.upperBound) }
        let text = unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "status \(status.rawValue)"
        message = last == status && !details.isEmpty && details != text ? "\(text): \(details)" : text
    }

    /// The same error, with what failed.
    func with(_ what: String) -> NATSError {
        var error = self
        error.message = "\(what): \(message)"
        return error
    }

    /// Whether the servers cannot be reached, or are starting: it may work later without a change of the settings.
    var isOutage: Bool {
        [
            NATS_NO_SERVER, NATS_TIMEOUT, NATS_IO_ERROR, NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED,
            NATS_STALE_CONNECTION, NATS_NO_RESPONDERS, NATS_INVALID_SUBSCRIPTION,
        ].contains(status)
    }

    /// Whether nobody answers for a consumer: its leader is silent, or it has none.
    var isConsumerLost: Bool { status == NATS_TIMEOUT || code == JSClusterNotAvailErr.rawValue }

    static func check(
        _ status: natsStatus, _ code: jsErrCode = jsErrCode(rawValue: 0)
    ) throws(NATSError) {
        if status != NATS_OK { throw NATSError(status, code) }
    }
}
