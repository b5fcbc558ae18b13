import CPenstockPlugin
import CPluginChannel
import Events
import PluginHosting

/// An offer as the plugin's process sent it. It is within the bounds of the protocol.
struct ReceivedOffer: Sendable {
    /// The plugin's own number for it.
    let token: UInt64
    let lane: LanePosition
    /// The journal that stored the events before; nil: none did.
    let origin: OriginID?
    /// The place of each event in it; none without an origin.
    let places: [OriginPlace]
    /// Where each event lies in `bytes`, one after the other.
    let events: [Range<Int>]
    /// The message.
    let bytes: [UInt8]
    /// What it takes of the window.
    let cost: UInt64

    /// - Parameter maximumBytes: of the events, if there are several.
    /// - Returns: nil if the message is not what the protocol allows.
    init?(token: UInt64, _ body: [UInt8], maximumBytes: Int = Int(PLUGIN_OFFER_BYTES)) {
        let head = MemoryLayout<plugin_offer>.size
        guard body.count >= head else { return nil }
        let offer = PluginProcess.value(of: body, at: 0, as: plugin_offer.self)
        guard offer.count <= PLUGIN_OFFER_EVENTS, offer.name_length <= PLUGIN_LANE_LIMIT,
            offer.position_length <= PLUGIN_LANE_LIMIT, [0, PLUGIN_ORIGIN_LENGTH].contains(offer.origin_length)
        else { return nil }
        let count = Int(offer.count)
        let lengths = head + (offer.origin_length > 0 ? count * MemoryLayout<penstock_place>.size : 0)
        let texts = lengths + count * MemoryLayout<UInt32>.size
        let position = texts + Int(offer.name_length)
        let origin = position + Int(offer.position_length)
        var place = origin + Int(offer.origin_length)
        guard body.count >= place, let name = Self.name(of: body[texts..<position]) else { return nil }
        if offer.origin_length > 0 {
            guard let id = OriginID(body[origin..<place]) else { return nil }
            self.origin = id
            places = (0..<count).map { Self.place(of: body, at: head, index: $0) }
        } else {
            self.origin = nil
            places = []
        }
        let size = body.count - place
        guard size <= (offer.count == 1 ? Int(PLUGIN_OFFER_EVENT_BYTES) : maximumBytes) else { return nil }
        lane = LanePosition(lane: name, position: Array(body[position..<origin]))
        var events: [Range<Int>] = []
        events.reserveCapacity(count)
        for index in 0..<count {
            let length = Int(PluginProcess.value(of: body, at: lengths + index * 4, as: UInt32.self))
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

    private static func place(of body: [UInt8], at start: Int, index: Int) -> OriginPlace {
        let place = PluginProcess.value(
            of: body, at: start + index * MemoryLayout<penstock_place>.size, as: penstock_place.self)
        return OriginPlace(position: place.position, part: place.part)
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
