import CMosquitto
import Foundation
import PenstockPluginKit
import PluginTesting
import Synchronization

/// A client that receives every message of a broker.
@safe final class MQTTSubscriber: @unchecked Sendable {
    struct Message: Equatable {
        var topic: String
        var payload: String
        var retained: Bool
        /// The user properties, and `content-type`.
        var properties: [String: String]

        var position: UInt64? { properties["position"].flatMap(UInt64.init) }
    }

    private let handle: OpaquePointer
    private let received = Mutex<[Message]>([])
    private let isReady = Mutex(false)
    private let isStopping = StopFlag()
    private var thread: JoinableThread?

    var messages: [Message] { received.withLock { $0 } }
    var positions: [UInt64] { messages.compactMap(\.position) }

    init(_ broker: MosquittoBroker, to topic: String = "#") throws {
        mosquitto_lib_init()
        guard let handle = unsafe mosquitto_new(nil, true, nil) else { throw TestProblem(description: "no memory") }
        unsafe self.handle = handle
        unsafe mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        unsafe mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        unsafe mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, 65535)
        unsafe mosquitto_message_v5_callback_set(handle, arrived)
        unsafe mosquitto_subscribe_callback_set(handle, subscribed)
        guard unsafe mosquitto_connect(handle, "127.0.0.1", Int32(broker.port), 60) == 0,
            unsafe mosquitto_subscribe(handle, nil, topic, 1) == 0
        else { throw TestProblem(description: "cannot connect to port \(broker.port)") }
        let client = unsafe Client(handle: handle)
        thread = JoinableThread { [isStopping] in client.run { isStopping.isSet } }
        guard pluginEventually({ self.isReady.withLock { $0 } }) else {
            throw TestProblem(description: "cannot subscribe at port \(broker.port)")
        }
    }

    deinit {
        isStopping.set()
        thread?.join()
        unsafe mosquitto_disconnect(handle)
        unsafe mosquitto_destroy(handle)
    }

    /// Serves the connection with poll(2): the library's own loop uses select(2), and the tests may have more than 1024
    /// files open.
    @safe private struct Client: @unchecked Sendable {
        let handle: OpaquePointer

        func run(until isStopping: () -> Bool) {
            while !isStopping() {
                let wanted = unsafe mosquitto_want_write(handle) ? POLLIN | POLLOUT : POLLIN
                var socket = pollfd(fd: unsafe mosquitto_socket(handle), events: Int16(wanted), revents: 0)
                guard socket.fd >= 0 else { return }
                unsafe poll(&socket, 1, 20)
                if Int32(socket.revents) & ~POLLOUT != 0 { unsafe mosquitto_loop_read(handle, 1) }
                unsafe mosquitto_loop_write(handle, 1)
                unsafe mosquitto_loop_misc(handle)
            }
        }
    }

    /// Waits for this many messages.
    func messages(_ count: Int) -> [Message] {
        _ = pluginEventually { self.received.withLock(\.count) >= count }
        return messages
    }

    fileprivate func ready() { isReady.withLock { $0 = true } }
    fileprivate func add(_ message: Message) { received.withLock { $0.append(message) } }
}

private func subscriber(_ object: UnsafeMutableRawPointer?) -> MQTTSubscriber? {
    unsafe object.map { unsafe Unmanaged<MQTTSubscriber>.fromOpaque($0).takeUnretainedValue() }
}

private func subscribed(
    _: OpaquePointer?, _ object: UnsafeMutableRawPointer?, _: Int32, _: Int32, _: UnsafePointer<Int32>?
) {
    unsafe subscriber(object)?.ready()
}

private func arrived(
    _: OpaquePointer?, _ object: UnsafeMutableRawPointer?, _ message: UnsafePointer<mosquitto_message>?,
    _ properties: OpaquePointer?
) {
    guard let message = unsafe message?.pointee else { return }
    var found: [String: String] = [:]
    var next = unsafe properties
    var isRepeated = false
    while let property = unsafe next {
        var name: UnsafeMutablePointer<CChar>?
        var value: UnsafeMutablePointer<CChar>?
        unsafe next = mosquitto_property_read_string_pair(
            property, Int32(MQTT_PROP_USER_PROPERTY.rawValue), &name, &value, isRepeated)
        if let key = unsafe name, let text = unsafe value, unsafe next != nil {
            unsafe found[String(cString: key)] = unsafe String(cString: text)
        }
        unsafe free(name)
        unsafe free(value)
        isRepeated = true
    }
    var type: UnsafeMutablePointer<CChar>?
    _ = unsafe mosquitto_property_read_string(properties, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), &type, false)
    found["content-type"] = unsafe type.map { unsafe String(cString: $0) }
    unsafe free(type)
    let bytes = unsafe UnsafeRawBufferPointer(start: message.payload, count: Int(message.payloadlen))
    let topic = unsafe String(cString: message.topic)
    let isRetained = unsafe message.retain
    let payload = unsafe String(decoding: bytes, as: UTF8.self)
    unsafe subscriber(object)?.add(
        MQTTSubscriber.Message(topic: topic, payload: payload, retained: isRetained, properties: found))
}

/// Ends a thread.
private final class StopFlag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}
