import CPluginChannel
import PluginHosting

/// The messages of a plugin's process, read as plugin_channel.h describes them and with no regard to speed.
struct ChannelModel {
    struct Message {
        var type: UInt32
        var token: UInt64
        var body: [UInt8]
    }

    private let role: PluginRole
    private var bytes: ArraySlice<UInt8> = []
    /// A message was not allowed.
    private(set) var hasEnded = false

    init(_ role: PluginRole) { self.role = role }

    /// - Parameter isAllowed: takes a whole message of allowed length.
    mutating func take(_ more: [UInt8], _ isAllowed: (Message) -> Bool) {
        bytes += more
        while !hasEnded, bytes.count >= 16 {
            let header = Array(bytes.prefix(16))
            let type = Self.number(header, 0)
            let length = Int(Self.number(header, 4))
            guard let longest = longest(type), length <= longest else {
                hasEnded = true
                return
            }
            guard bytes.count >= 16 + length else { return }
            let body = Array(bytes.dropFirst(16).prefix(length))
            let token = Self.longNumber(header, 8)
            bytes = bytes.dropFirst(16 + length)
            hasEnded = !isAllowed(Message(type: type, token: token, body: body))
        }
    }

    private func longest(_ type: UInt32) -> Int? {
        switch (type, role) {
        case (32, _): 40 + 2_105_735
        case (35, _): 8192
        case (36, _), (37, _): 65
        case (33, .sink), (38, .source): 16 << 20
        case (34, .sink): 0
        case (39, .source), (40, .source), (43, .source): 64
        case (41, .source), (42, .source): 1024
        default: nil
        }
    }

    /// A number of four bytes, on a machine with the lowest one first.
    static func number(_ bytes: [UInt8], _ at: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * $1) }
    }

    /// A number of eight bytes.
    static func longNumber(_ bytes: [UInt8], _ at: Int) -> UInt64 {
        UInt64(number(bytes, at)) | UInt64(number(bytes, at + 4)) << 32
    }

    static func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
}

/// The outcomes of a batch. nil: the bytes are not allowed.
func modelledOutcomes(_ body: [UInt8]) -> (
    count: Int, stride: Int, given: [(status: Int32, after: UInt32, reason: [UInt8])]?
)? {
    guard body.count >= 16 else { return nil }
    let (count, stride) = (Int(ChannelModel.number(body, 0)), Int(ChannelModel.number(body, 4)))
    let given = ChannelModel.number(body, 8)
    guard given < .max else { return body.count == 16 ? (count, stride, nil) : nil }
    var outcomes: [(status: Int32, after: UInt32, reason: [UInt8])] = []
    var texts = body.dropFirst(16 + Int(given) * 12)
    guard stride >= 16, body.count >= 16 + Int(given) * 12 else { return nil }
    for index in 0..<Int(given) {
        let at = 16 + index * 12
        let length = Int(ChannelModel.number(body, at + 8))
        guard length <= 1024, texts.count >= length else { return nil }
        outcomes.append(
            (
                Int32(bitPattern: ChannelModel.number(body, at)), ChannelModel.number(body, at + 4),
                Array(texts.prefix(length))
            ))
        texts = texts.dropFirst(length)
    }
    return texts.isEmpty ? (count, stride, outcomes) : nil
}
