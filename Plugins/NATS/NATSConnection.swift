import CNats
import Dispatch
import PenstockPluginKit
import Synchronization

/// One connection. It is not opened again after it was lost. Any thread.
///
/// The library calls back on threads of its own, with the number of this object: an object that is gone is not found.
///
/// Unsafe part: the library's handle, valid until `close`.
@safe final class NATSConnection: @unchecked Sendable {
    /// Called on a thread of the library's.
    struct Handlers: Sendable {
        /// A message to the inbox: the last token of its subject, and its content.
        var onReply: @Sendable (_ token: String, _ reply: NATSReply) -> Void
        /// The connection was lost or closed. Called once, after it was open.
        var onClosed: @Sendable (_ reason: String) -> Void
    }

    private static let open = Mutex<(last: UInt, [UInt: NATSConnection])>((0, [:]))
    /// How long `close` waits for each of the library's threads.
    private static let patience = DispatchTimeInterval.seconds(5)
    /// How long `free` waits for the server, in milliseconds.
    private static let answerTime: Int64 = 1000

    let handle: OpaquePointer
    /// Replies are expected at this subject and a token: `_INBOX.id.token`.
    private(set) var inbox = ""
    private var subscription: OpaquePointer?
    private var number: UInt = 0
    private let handlers: Handlers
    private let closed = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let lost = Mutex<String?>(nil)
    /// What `free` could not free.
    private let unfreed = Mutex<[UInt]>([])

    init(_ settings: NATSConnectionSettings, name: String, _ handlers: Handlers) throws(NATSError) {
        self.handlers = handlers
        let options = try NATSOptions(settings, name: name)
        let number = Self.open.withLock { open in
            open.last += 1
            return open.last
        }
        unsafe natsOptions_SetClosedCB(options.handle, connectionClosed, UnsafeMutableRawPointer(bitPattern: number))
        var handle: OpaquePointer?
        try NATSError.check(unsafe natsConnection_Connect(&handle, options.handle))
        guard let handle = unsafe handle else { throw NATSError(NATS_ERR) }
        unsafe self.handle = handle
        self.number = number
        Self.open.withLock { $0.1[number] = self }
        // Between the two lines above, the connection may have been lost.
        if unsafe natsConnection_IsClosed(handle) { didClose() }
        do throws(NATSError) {
            try subscribe()
        } catch {
            close()
            throw error
        }
    }

    /// Why the connection was lost; nil: it is open.
    var lostReason: String? { lost.withLock(\.self) }

    /// The last error that the server sent.
    var lastError: String? {
        var text: UnsafePointer<CChar>?
        guard unsafe natsConnection_GetLastError(handle, &text) != NATS_OK, let text = unsafe text else { return nil }
        let error = unsafe String(cString: text)
        return error.isEmpty ? nil : error
    }

    var maximumPayload: Int64 { unsafe natsConnection_GetMaxPayload(handle) }

    /// - Parameter payload: copied.
    func publish(
        _ subject: String, reply: String, headers: [(name: String, value: String)], _ payload: UnsafeRawBufferPointer
    ) throws(NATSError) {
        var message: OpaquePointer?
        let data = unsafe payload.baseAddress?.assumingMemoryBound(to: CChar.self)
        try NATSError.check(unsafe natsMsg_Create(&message, subject, reply, data, Int32(clamping: payload.count)))
        defer { unsafe natsMsg_Destroy(message) }
        for (name, value) in headers { try NATSError.check(unsafe natsMsgHeader_Set(message, name, value)) }
        try NATSError.check(unsafe natsConnection_PublishMsg(handle, message))
    }

    /// Closes the connection, and waits until the library's threads call this object no more. Called once; no other
    /// function is called after it.
    func close() {
        unsafe natsConnection_Close(handle)
        if unsafe subscription != nil {
            _ = ended.wait(timeout: .now() + Self.patience)
            unsafe natsSubscription_Destroy(subscription)
            unsafe subscription = nil
        }
        _ = closed.wait(timeout: .now() + Self.patience)
        for subscription in unfreed.withLock(\.self) {
            unsafe natsSubscription_Destroy(OpaquePointer(bitPattern: subscription))
        }
        Self.open.withLock { $0.1[number] = nil }
        unsafe natsConnection_Destroy(handle)
    }

    /// Frees a subscription that has ended.
    ///
    /// Before 3.6, the library's reading thread uses a subscription without a reference to it while it takes a message
    /// (nats.c issue 637). So it is freed when that thread has answered a later request, or has ended.
    func free(_ subscription: OpaquePointer) {
        if unsafe natsConnection_FlushTimeout(handle, Self.answerTime) == NATS_OK {
            unsafe natsSubscription_Destroy(subscription)
        } else {
            unfreed.withLock { $0.append(UInt(bitPattern: subscription)) }
        }
    }

    private func subscribe() throws(NATSError) {
        var inbox: UnsafeMutablePointer<natsInbox>?
        try NATSError.check(unsafe natsInbox_Create(&inbox))
        self.inbox = unsafe inbox.map { unsafe String(cString: $0) } ?? ""
        unsafe natsInbox_Destroy(inbox)
        let closure = unsafe UnsafeMutableRawPointer(bitPattern: number)
        var subscription: OpaquePointer?
        try NATSError.check(
            unsafe natsConnection_Subscribe(&subscription, handle, "\(self.inbox).*", replyArrived, closure))
        unsafe self.subscription = subscription
        try NATSError.check(unsafe natsSubscription_SetPendingLimits(subscription, -1, -1))
        try NATSError.check(unsafe natsSubscription_SetOnCompleteCB(subscription, subscriptionEnded, closure))
    }

    fileprivate func didReceive(_ reply: NATSReply) {
        guard reply.subject.utf8.count > inbox.utf8.count + 1 else { return }
        handlers.onReply(String(reply.subject.dropFirst(inbox.count + 1)), reply)
    }

    fileprivate func didEnd() { ended.signal() }

    fileprivate func didClose() {
        let reason = lastError ?? "the server closed the connection"
        let isFirst = lost.withLock { lost in
            defer { lost = lost ?? reason }
            return lost == nil
        }
        guard isFirst else { return }
        handlers.onClosed(reason)
        closed.signal()
    }

    fileprivate static func find(_ closure: UnsafeMutableRawPointer?) -> NATSConnection? {
        let number = UInt(bitPattern: closure)
        return open.withLock { $0.1[number] }
    }
}

// File-level functions: a closure literal could be inferred as `@MainActor`, and would then abort on the library's
// threads.

private func connectionClosed(_ connection: OpaquePointer?, _ closure: UnsafeMutableRawPointer?) {
    unsafe NATSConnection.find(closure)?.didClose()
}

private func subscriptionEnded(_ closure: UnsafeMutableRawPointer?) { unsafe NATSConnection.find(closure)?.didEnd() }

private func replyArrived(
    _ connection: OpaquePointer?, _ subscription: OpaquePointer?, _ message: OpaquePointer?,
    _ closure: UnsafeMutableRawPointer?
) {
    defer { unsafe natsMsg_Destroy(message) }
    guard let message = unsafe message else { return }
    unsafe NATSConnection.find(closure)?.didReceive(NATSReply(message))
}
