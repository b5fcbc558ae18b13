import CMosquitto
import Dispatch
import Glibc
import PenstockPluginKit
import Synchronization

/// One connection to a broker, by libmosquitto, and the messages that it has not acknowledged yet. It ends at the first
/// error and is then replaced: the library's own queue of messages to repeat is never used.
///
/// A thread of its own reads acknowledgements and keeps the connection alive. All other calls come from one thread at
/// a time. `close` ends the thread; it must be called.
///
/// Unsafe part: the library's handle, which `close` frees. Its callbacks get this object's address, and run only on the
/// thread that `close` waits for.
@safe final class MQTTSession: @unchecked Sendable {
    /// Why a message was not published.
    enum Refusal {
        /// The message can never be published.
        case message(String)
        case session(String)
    }

    struct State {
        var welcome: MQTTReason?
        /// Why the connection ended, and the reason code of the broker, if it sent one.
        var ended: (text: String, reason: MQTTReason?)?
        /// The index of each unacknowledged message, by the library's id.
        var indexes: [Int32: Int] = [:]
        /// The acknowledgements of the current messages, by index.
        var acknowledged: [Int: MQTTReason] = [:]
        /// Counts acknowledgements, to see progress.
        var progress = 0
    }

    private let handle: OpaquePointer
    private let state = Mutex(State())
    /// Signalled when `state` may be what a caller waits for.
    private let changed = DispatchSemaphore(value: 0)
    private let isStopping = Atomic(false)
    private let thread = DispatchGroup()

    private static let library = mosquitto_lib_init()

    init(clientID: String) throws(SinkError) {
        guard Self.library == MOSQ_ERR_SUCCESS.rawValue, let handle = unsafe mosquitto_new(clientID, true, nil) else {
            throw SinkError("out of memory")
        }
        unsafe self.handle = handle
        unsafe mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        unsafe mosquitto_connect_v5_callback_set(handle, connected)
        unsafe mosquitto_disconnect_v5_callback_set(handle, disconnected)
        unsafe mosquitto_publish_v5_callback_set(handle, acknowledged)
    }

    /// Connects, and waits for the broker's answer. After an error only `close` may be called.
    func open(_ settings: MQTTSettings) throws(SinkError) {
        let address = try settings.parsedAddress()
        for (option, value) in [
            (MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5), (MOSQ_OPT_SEND_MAXIMUM, Int32(settings.window)),
            (MOSQ_OPT_TCP_NODELAY, 1),
        ] {
            try check(unsafe mosquitto_int_option(handle, option, value))
        }
        // This object's calls come from two threads.
        try check(unsafe mosquitto_threaded_set(handle, true))
        if let username = settings.username {
            try check(unsafe mosquitto_username_pw_set(handle, username, settings.password))
        }
        if settings.tls.isUsed() {
            let system = settings.tls.authorities == nil ? "/etc/ssl/certs" : nil
            let status = unsafe mosquitto_tls_set(
                handle, settings.tls.authorities, system, settings.tls.certificate, settings.tls.key, nil)
            guard status == MOSQ_ERR_SUCCESS.rawValue else {
                throw SinkError("a file of settings.tls_ca, tls_certificate or tls_key cannot be read")
            }
        }
        try check(
            unsafe mosquitto_connect_async(
                handle, address.host, Int32(address.port),
                // MQTT has whole seconds.
                Int32(clamping: settings.keepalive.duration.components.seconds)))
        // The library uses select(2).
        guard unsafe mosquitto_socket(handle) < FD_SETSIZE else {
            throw SinkError("the process has too many open files for libmosquitto: set isolation: process")
        }
        DispatchQueue(label: "penstock.mqtt.loop").async(group: thread) { [self] in run() }
        guard wait(settings.timeout.duration, until: { $0.welcome != nil }) else {
            throw SinkError("the broker did not answer within settings.timeout")
        }
        let (welcome, ended) = state.withLock { ($0.welcome, $0.ended) }
        if let welcome, welcome.code == 0 { return }
        throw SinkError(welcome?.description ?? ended?.text ?? "the broker did not answer")
    }

    /// Why the connection ended; nil: it has not.
    var ended: (text: String, reason: MQTTReason?)? { state.withLock(\.ended) }

    /// Forgets earlier messages. The next ones have the indexes from 0 on.
    func begin() {
        state.withLock { state in
            state.indexes.removeAll(keepingCapacity: true)
            state.acknowledged.removeAll(keepingCapacity: true)
        }
    }

    /// Publishes a message, or queues it until the window has room.
    /// - Parameter topic: without U+0000.
    /// - Returns: why it was not published; nil: it was.
    func publish(
        _ index: Int, to topic: [UInt8], _ payload: UnsafeRawBufferPointer, retain: Bool, _ properties: MQTTProperties
    ) -> Refusal? {
        let terminated = topic + [0]
        // An acknowledgement waits for the lock until the index is known.
        let status = state.withLock { state in
            var id: Int32 = 0
            let status = unsafe terminated.withUnsafeBytes { topic in
                unsafe mosquitto_publish_v5(
                    handle, &id, topic.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(payload.count),
                    payload.baseAddress, 1, retain, properties.list)
            }
            if status == MOSQ_ERR_SUCCESS.rawValue { state.indexes[id] = index }
            return status
        }
        switch mosq_err_t(rawValue: status) {
        case MOSQ_ERR_SUCCESS: return nil
        case MOSQ_ERR_OVERSIZE_PACKET: return .message("it is larger than the broker's limit for a packet")
        case MOSQ_ERR_PAYLOAD_SIZE: return .message("it is larger than MQTT's limit of 256 MiB")
        case MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_INVAL: return .message("its topic is not valid in MQTT")
        case MOSQ_ERR_QOS_NOT_SUPPORTED: return .session("the broker does not support QoS 1")
        default: return .session(Self.text(status))
        }
    }

    /// Waits until `count` messages are acknowledged, or the connection has ended.
    /// - Parameter timeout: the longest wait for the next acknowledgement.
    /// - Returns: the acknowledgements, by index.
    func acknowledgements(_ count: Int, within timeout: Duration) -> [Int: MQTTReason] {
        _ = wait(timeout) { state in state.acknowledged.count >= count }
        return state.withLock(\.acknowledged)
    }

    /// Disconnects, ends the thread and frees the handle. No other call may follow.
    func close() {
        _ = unsafe mosquitto_disconnect_v5(handle, 0, nil)
        isStopping.store(true, ordering: .releasing)
        thread.wait()
        unsafe mosquitto_destroy(handle)
    }

    /// - Returns: whether the condition holds or the connection has ended; false: there was no progress for too long.
    private func wait(_ timeout: Duration, until isDone: (State) -> Bool) -> Bool {
        while true {
            let (done, progress) = state.withLock { (isDone($0) || $0.ended != nil, $0.progress) }
            if done { return true }
            if changed.wait(timeout: .now() + .milliseconds(Int(timeout.wholeMilliseconds))) == .timedOut,
                state.withLock(\.progress) == progress
            {
                return state.withLock { isDone($0) || $0.ended != nil }
            }
        }
    }

    /// The thread: one round of the library's loop after the other. A round waits for at most a second; `publish` and
    /// `close` end its wait.
    private func run() {
        while true {
            let status = unsafe mosquitto_loop(handle, 1000, 1)
            acknowledgeSegments()
            if status != MOSQ_ERR_SUCCESS.rawValue { return end(Self.text(status), nil) }
            if isStopping.load(ordering: .acquiring) {
                // DISCONNECT may be waiting to be sent.
                _ = unsafe mosquitto_loop(handle, 0, 1)
                return end("closed", nil)
            }
        }
    }

    /// A broker with Nagle's algorithm (mosquitto's default) sends a second acknowledgement only when TCP has confirmed
    /// the first. The kernel delays that by 40 ms unless it is asked not to, again after each read.
    private func acknowledgeSegments() {
        var yes: Int32 = 1
        let socket = unsafe mosquitto_socket(handle)
        if socket >= 0 {
            _ = unsafe setsockopt(
                socket, Int32(IPPROTO_TCP), TCP_QUICKACK, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    fileprivate func welcome(_ reason: MQTTReason) {
        state.withLock { $0.welcome = reason }
        changed.signal()
    }

    /// The first reason counts.
    fileprivate func end(_ text: String, _ reason: MQTTReason?) {
        state.withLock { if $0.ended == nil { $0.ended = (text, reason) } }
        changed.signal()
    }

    fileprivate func acknowledge(_ id: Int32, _ reason: MQTTReason) {
        let isLast = state.withLock { state in
            guard let index = state.indexes.removeValue(forKey: id) else { return false }
            state.acknowledged[index] = reason
            state.progress += 1
            return state.indexes.isEmpty
        }
        if isLast { changed.signal() }
    }

    private func check(_ status: Int32) throws(SinkError) {
        guard status == MOSQ_ERR_SUCCESS.rawValue else { throw SinkError(Self.text(status)) }
    }

    fileprivate static func text(_ status: Int32) -> String {
        let text =
            unsafe status == MOSQ_ERR_ERRNO.rawValue
            ? strerror(errno) : mosquitto_strerror(status).map { unsafe .init(mutating: $0) }
        return unsafe text.map { unsafe String(cString: $0) } ?? "error \(status)"
    }
}

// File-level functions: a closure literal could be inferred as `@MainActor`, and would then abort on the thread.

private func session(_ object: UnsafeMutableRawPointer?) -> MQTTSession? {
    unsafe object.map { unsafe Unmanaged<MQTTSession>.fromOpaque($0).takeUnretainedValue() }
}

private func connected(
    _: OpaquePointer?, _ object: UnsafeMutableRawPointer?, _ code: Int32, _: Int32, _: OpaquePointer?
) {
    unsafe session(object)?.welcome(MQTTReason(code: code))
}

private func disconnected(
    _: OpaquePointer?, _ object: UnsafeMutableRawPointer?, _ code: Int32, _: OpaquePointer?
) {
    let reason = MQTTReason(code: code)
    unsafe session(object)?.end(
        reason.isFailure ? reason.description : MQTTSession.text(code), reason.isFailure ? reason : nil)
}

private func acknowledged(
    _: OpaquePointer?, _ object: UnsafeMutableRawPointer?, _ id: Int32, _ code: Int32, _: OpaquePointer?
) {
    unsafe session(object)?.acknowledge(id, MQTTReason(code: code))
}
