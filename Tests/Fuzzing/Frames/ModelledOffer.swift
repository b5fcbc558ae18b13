/// An offer, as a source's process sends it.
struct ModelledOffer {
    var token: UInt64
    var lane: [UInt8]
    var position: [UInt8]
    var events: [[UInt8]]

    var cost: Int { 256 + events.reduce(0) { $0 + 64 + $1.count } }

    /// - Returns: nil if the bytes are not allowed.
    init?(_ message: ChannelModel.Message, maximumBytes: Int) {
        let body = message.body
        guard body.count >= 12 else { return nil }
        let (count, name, place) = (
            Int(ChannelModel.number(body, 0)), Int(ChannelModel.number(body, 4)), Int(ChannelModel.number(body, 8))
        )
        guard count <= 1000, name <= 64, place <= 64, body.count >= 12 + count * 4 + name + place else { return nil }
        let lengths = (0..<count).map { Int(ChannelModel.number(body, 12 + $0 * 4)) }
        var rest = body.dropFirst(12 + count * 4)
        token = message.token
        lane = Array(rest.prefix(name))
        position = Array(rest.dropFirst(name).prefix(place))
        rest = rest.dropFirst(name + place)
        guard isLane(lane), lengths.reduce(0, +) == rest.count, count == 1 || rest.count <= maximumBytes else {
            return nil
        }
        events = []
        for length in lengths {
            events.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
    }
}

/// Whether it is 1 to 64 bytes of UTF-8 without control characters: U+0000 to U+001F and U+007F to U+009F.
func isLane(_ name: [UInt8]) -> Bool {
    let text = String(decoding: name, as: UTF8.self)
    return (1...64).contains(name.count) && Array(text.utf8) == name
        && !text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
}
