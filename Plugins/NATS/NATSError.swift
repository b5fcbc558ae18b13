import CNats

/// An error of the library, with its text.
struct NATSError: Error {
    var status: natsStatus
    var message: String

    init(_ status: natsStatus) {
        self.status = status
        // The thread's last error has the details, unless another call failed since.
        var last = NATS_OK
        var details = unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? ""
        // The place in the library's source: "(conn.c:2088): ".
        if details.hasPrefix("("), let end = details.firstRange(of: "): ") { details.removeSubrange(..<end.upperBound) }
        let text = unsafe natsStatus_GetText(status).map { unsafe String(cString: $0) } ?? "status \(status.rawValue)"
        message = last == status && !details.isEmpty && details != text ? "\(text): \(details)" : text
    }

    static func check(_ status: natsStatus) throws(NATSError) {
        if status != NATS_OK { throw NATSError(status) }
    }
}
