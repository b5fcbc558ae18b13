import CNats
import PenstockPluginKit
import Synchronization

/// Asks a consumer for messages, and receives them. Belongs to one thread, but for `interrupt`.
///
/// Two requests may be open at once, so that the server need not wait for the next one. The messages that are asked for
/// bound the memory.
///
/// Unsafe part: the library's subscription, valid until `close`.
@safe final class NATSPull: @unchecked Sendable {
    /// Why the consumer has to be looked at again.
    struct Interruption: Error, CustomStringConvertible { var description: String }

    private let connection: NATSConnection
    private let subscription: OpaquePointer
    private let inbox: String
    private let request: (subject: String, text: String)
    private let batch: Int
    private let wait: Duration
    /// The messages that are asked for and have not come.
    private var open = 0
    /// How long nothing has come.
    private var silence = Duration.zero
    /// Held while another thread ends the subscription.
    private let isInterrupted = Mutex(false)

    init(_ connection: NATSConnection, _ settings: NATSSourceSettings, _ lane: NATSLane) throws(NATSError) {
        self.connection = connection
        batch = settings.batch
        wait = settings.wait.duration
        let consumer = lane.consumer
        // Any single message must fit, with what the server counts beside its payload.
        let bytes = max(settings.batchBytes ?? 0, Int(clamping: connection.maximumPayload) + (64 << 10))
        request = (
            "$JS.API.CONSUMER.MSG.NEXT.\(settings.stream).\(consumer)",
            #"{"batch":\#(batch),"max_bytes":\#(bytes),"expires":\#(wait.wholeMilliseconds * 1_000_000)}"#
        )
        var inbox: UnsafeMutablePointer<natsInbox>?
        try NATSError.check(unsafe natsInbox_Create(&inbox))
        self.inbox = unsafe inbox.map { unsafe String(cString: $0) } ?? ""
        unsafe natsInbox_Destroy(inbox)
        var subscription: OpaquePointer?
        try NATSError.check(unsafe natsConnection_SubscribeSync(&subscription, connection.handle, self.inbox))
        guard let subscription = unsafe subscription else { throw NATSError(NATS_NO_MEMORY) }
        unsafe self.subscription = subscription
        try NATSError.check(unsafe natsSubscription_SetPendingLimits(subscription, -1, -1))
    }

    /// Ends a wait for messages. Any thread, after `close`, too.
    func interrupt() {
        isInterrupted.withLock { isInterrupted in
            if !isInterrupted { unsafe natsSubscription_Unsubscribe(subscription) }
            isInterrupted = true
        }
    }

    /// Frees the subscription. Called once; `next` is not called after it.
    func close() {
        interrupt()
        unsafe connection.free(subscription)
    }

    /// - Parameter time: how long to wait for a message; zero: only what has arrived.
    /// - Returns: nil: none came.
    /// - Throws: `Interruption`, `NATSError`.
    func next(within time: Duration) throws -> NATSMessage? {
        if open <= batch / 2 { try ask() }
        var message: OpaquePointer?
        let status = unsafe natsSubscription_NextMsg(&message, subscription, time.wholeMilliseconds)
        if isInterrupted.withLock(\.self) {
            unsafe natsMsg_Destroy(message)
            return nil
        }
        switch status {
        case NATS_OK: break
        case NATS_TIMEOUT:
            silence += time
            if silence > wait + .seconds(5) {
                throw Interruption(description: "the server answers no requests for messages")
            }
            return nil
        case NATS_NO_RESPONDERS: throw Interruption(description: "the consumer is gone, or has no leader")
        default: throw NATSError(status)
        }
        guard let message = unsafe message else { return nil }
        silence = .zero
        if let delivered = unsafe NATSMessage(message) {
            open = max(0, open - 1)
            return delivered
        }
        defer { unsafe natsMsg_Destroy(message) }
        try unsafe receive(status: message)
        return nil
    }

    private func ask() throws(NATSError) {
        try NATSError.check(
            unsafe natsConnection_PublishRequestString(connection.handle, request.subject, inbox, request.text))
        open += batch
    }

    /// The server has ended a request.
    private func receive(status message: OpaquePointer) throws(Interruption) {
        let code = unsafe Self.header("Status", message) ?? ""
        let left = unsafe Self.header("Nats-Pending-Messages", message).flatMap { Int($0) }
        let description = unsafe Self.header("Description", message) ?? "unknown"
        switch code {
        case "100": return
        case "404", "408": open = max(0, open - max(0, left ?? open))
        // The next message does not fit into the request's bytes.
        case "409" where description.contains("MaxBytes"): open = max(0, open - max(0, left ?? open))
        default:
            throw Interruption(description: "the server has ended a request for messages: \(code) \(description)")
        }
    }

    private static func header(_ name: String, _ message: OpaquePointer) -> String? {
        var value: UnsafePointer<CChar>?
        guard unsafe natsMsgHeader_Get(message, name, &value) == NATS_OK else { return nil }
        return unsafe value.map { unsafe String(cString: $0) }
    }
}
