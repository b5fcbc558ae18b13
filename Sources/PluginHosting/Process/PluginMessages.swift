import CPluginChannel

/// Reads the messages (plugin_channel.h) in what a plugin's process writes, and passes them on in order.
///
/// It trusts nothing in them. It holds at most one message, and refuses a longer one by its header. The pieces in which
/// the bytes arrive make no difference.
struct PluginMessages {
    private let receiver: any PluginMessageReceiver
    private let takeReply: (PluginProcess.Reply) -> Bool
    /// The part of a header that has arrived.
    private var head: [UInt8] = []
    /// The message whose body is arriving, and what has arrived of it; its length is allowed.
    private var message: (header: plugin_header, body: [UInt8])?

    /// - Parameters:
    ///   - receiver: gets the messages of the plugin's role, the log lines and the metrics.
    ///   - takeReply: returns false if no reply is expected.
    init(_ receiver: any PluginMessageReceiver, takeReply: @escaping (PluginProcess.Reply) -> Bool) {
        self.receiver = receiver
        self.takeReply = takeReply
    }

    /// The number of bytes that wait for the rest of their message.
    var heldBytes: Int { head.count + (message?.body.count ?? 0) }

    /// Passes on the messages that these bytes complete.
    /// - Returns: false if a message is not allowed. Nothing may be taken after it.
    mutating func take(_ piece: [UInt8]) -> Bool {
        var place = 0
        while true {
            if message == nil, !readHeader(piece, &place) { return false }
            // Moved out, so that the body grows in place.
            guard let header = message?.header, var body = message.take()?.body else { return true }
            let count = min(Int(header.length) - body.count, piece.count - place)
            body += piece[place..<place + count]
            place += count
            guard body.count == Int(header.length) else {
                message = (header, body)
                return true
            }
            guard pass(header, body) else { return false }
        }
    }

    /// Reads what there is of the next header, and prepares for its body.
    /// - Returns: false if such a message is not allowed.
    private mutating func readHeader(_ piece: [UInt8], _ place: inout Int) -> Bool {
        let size = MemoryLayout<plugin_header>.size
        let count = min(size - head.count, piece.count - place)
        head += piece[place..<place + count]
        place += count
        guard head.count == size else { return true }
        let header = PluginProcess.value(of: head, at: 0, as: plugin_header.self)
        head.removeAll(keepingCapacity: true)
        guard let longest = longest(plugin_channel_type(header.type)), Int(header.length) <= longest else {
            return false
        }
        var body: [UInt8] = []
        body.reserveCapacity(Int(header.length))
        message = (header, body)
        return true
    }

    /// The bounds of the plugin host, in bytes; nil: such a message is never allowed. A plugin can write past the host.
    private func longest(_ type: plugin_channel_type) -> Int? {
        switch type {
        case PLUGIN_REPLY: MemoryLayout<plugin_reply>.size + Int(PLUGIN_CHANNEL_DESCRIPTION_LIMIT)
        case PLUGIN_LOG: Int(PLUGIN_CHANNEL_LOG_LIMIT)
        case PLUGIN_COUNTER, PLUGIN_GAUGE: Int(PLUGIN_CHANNEL_NAME_LIMIT)
        default: receiver.longestMessage(type)
        }
    }

    /// - Returns: false if the message is not allowed.
    private func pass(_ header: plugin_header, _ body: [UInt8]) -> Bool {
        let type = plugin_channel_type(header.type)
        switch type {
        case PLUGIN_REPLY:
            guard let reply = PluginProcess.Reply(body) else { return false }
            return takeReply(reply)
        case PLUGIN_LOG:
            receiver.reporting.log(Int32(truncatingIfNeeded: header.token), String(decoding: body, as: UTF8.self))
        case PLUGIN_COUNTER: receiver.reporting.add(header.token, to: String(decoding: body, as: UTF8.self))
        case PLUGIN_GAUGE:
            receiver.reporting.set(String(decoding: body, as: UTF8.self), to: Double(bitPattern: header.token))
        default: return receiver.receive(type, token: header.token, body)
        }
        return true
    }
}

extension PluginProcess.Reply {
    /// - Returns: nil if the bytes are not what the protocol allows.
    init?(_ body: [UInt8]) {
        let size = MemoryLayout<plugin_reply>.size
        guard body.count >= size else { return nil }
        let head = PluginProcess.value(of: body, at: 0, as: plugin_reply.self)
        guard body.count - size == Int(head.text_length) else { return nil }
        self.init(status: head.status, values: head.values, text: Array(body[size...]))
    }
}

/// Takes what a plugin's process sends. Called on that process's threads; it must not wait for anything.
package protocol PluginMessageReceiver: AnyObject, Sendable {
    /// Gets the log lines and the metrics.
    var reporting: PluginReporting { get }
    /// The longest message of this type, in bytes; nil: the plugin's role has no such messages.
    func longestMessage(_ type: plugin_channel_type) -> Int?
    /// - Returns: false if the message is not allowed, which ends the process.
    func receive(_ type: plugin_channel_type, token: UInt64, _ body: [UInt8]) -> Bool
    /// No message follows.
    func processEnded()
}
