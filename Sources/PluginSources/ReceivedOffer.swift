import CPluginChannel
import Events
import PluginHosting

/// An offer as the plugin's process sent it. It is within the bounds of the protocol.
struct ReceivedOffer: Sendable {
    /// The plugin's own number for it.
    let token: UInt64
    let lane: LanePosition
    /// Where each event lies in `bytes`, one after the other.
    let events: [Range<Int>]
    /// The message.
    let bytes: [UInt8]
    /// What it takes of the window.
    let cost: UInt64

    /// - Returns: nil if the message is not what the protocol allows.
    init?(token: UInt64, _ body: [UInt8]) {
        let head = MemoryLayout<plugin_offer>.size
        guard body.count >= head else { return nil }
        let offer = PluginProcess.value(of: body, at: 0, as: plugin_offer.self)
        guard offer.count <= PLUGIN_OFFER_EVENTS, offer.name_length <= PLUGIN_LANE_LIMIT,
            offer.position_length <= PLUGIN_LANE_LIMIT
        else { return nil }
        let lengths = head + Int(offer.count) * MemoryLayout<UInt32>.size
        let position = lengths + Int(offer.name_length)
        var place = position + Int(offer.position_length)
        guard body.count >= place, let name = Self.name(of: body[lengths..<position]) else { return nil }
        let size = body.count - place
        let limit = offer.count == 1 ? PLUGIN_OFFER_EVENT_BYTES : PLUGIN_OFFER_BYTES
        guard size <= Int(limit) else { return nil }
        lane = LanePosition(lane: name, position: Array(body[position..<place]))
        var events: [Range<Int>] = []
        events.reserveCapacity(Int(offer.count))
        for index in 0..<Int(offer.count) {
            let length = Int(PluginProcess.value(of: body, at: head + index * 4, as: UInt32.self))
            guard length <= body.count - place else { return nil }
            events.append(place..<place + length)
            place += length
        }
        guard place == body.count else { return nil }
        self.token = token
        self.events = events
        bytes = body
        cost = UInt64(PLUGIN_OFFER_COST) + UInt64(offer.count) * UInt64(PLUGIN_OFFER_EVENT_COST) + UInt64(size)
    }

    /// The name of a lane; nil: it is none.
    static func name(of bytes: some Collection<UInt8>) -> String? {
        guard (1...Int(PLUGIN_LANE_LIMIT)).contains(bytes.count),
            let name = String(validating: bytes, as: UTF8.self),
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        return name
    }
}
