import CPenstockPlugin
import CPluginChannel
import Events
import Platform
import PluginHosting

/// An offer as the plugin's process sent it. It is within the bounds of the protocol.
///
/// Unsafe part: structs of plain numbers are copied from the bytes of the message.
@safe struct ReceivedOffer: Sendable {
    /// The plugin's own number for it.
    let token: UInt64
    let lane: LanePosition
    /// The journal that stored the events before; nil: none did.
    let origin: OriginID?
    /// The place of each event in it; none without an origin.
    let places: [OriginPlace]
    /// The name of the host that received the events first; empty: not known.
    let host: String
    /// When that host received each event, in nanoseconds since 1970-01-01 UTC; none if it is not known.
    let times: [Int64]
    /// Where each event lies in `bytes`. A line feed follows each, so they are lines.
    let events: [Range<Int>]
    /// Whether each event is exactly one line, with something in it.
    let areLines: Bool
    /// The message.
    let bytes: [UInt8]
    /// What it takes of the window.
    let cost: UInt64

    /// All events with their line feeds, in `bytes`.
    var lines: Range<Int> { (events.first?.lowerBound ?? bytes.count)..<bytes.count }

    /// - Parameter maximumBytes: of the events, if there are several.
    /// - Returns: nil if the message is not what the protocol allows.
    init?(token: UInt64, _ body: [UInt8], maximumBytes: Int = Int(PLUGIN_OFFER_BYTES)) {
        let head = MemoryLayout<plugin_offer>.size
        guard body.count >= head else { return nil }
        let offer = PluginProcess.value(of: body, at: 0, as: plugin_offer.self)
        guard offer.count <= PLUGIN_OFFER_EVENTS, offer.name_length <= PLUGIN_LANE_LIMIT,
            offer.position_length <= PLUGIN_LANE_LIMIT, [0, PLUGIN_ORIGIN_LENGTH].contains(offer.origin_length),
            offer.host_length <= PLUGIN_HOST_LIMIT, offer.has_times <= 1
        else { return nil }
        let count = Int(offer.count)
        let times = head + (offer.origin_length > 0 ? count * MemoryLayout<penstock_place>.size : 0)
        let lengths = times + (offer.has_times > 0 ? count * MemoryLayout<Int64>.size : 0)
        let texts = lengths + count * MemoryLayout<UInt32>.size
        let position = texts + Int(offer.name_length)
        let origin = position + Int(offer.position_length)
        let host = origin + Int(offer.origin_length)
        let first = host + Int(offer.host_length)
        guard body.count >= first, let name = Self.name(of: body[texts..<position]) else { return nil }
        if offer.origin_length > 0 {
            guard let id = OriginID(body[origin..<host]) else { return nil }
            self.origin = id
            places = Self.values(of: body, at: head, count, as: penstock_place.self).map {
                OriginPlace(position: $0.position, part: $0.part)
            }
        } else {
            self.origin = nil
            places = []
        }
        if host == first {
            self.host = ""
        } else {
            guard let name = Self.name(of: body[host..<first], limit: PLUGIN_HOST_LIMIT) else { return nil }
            self.host = name
        }
        self.times = offer.has_times > 0 ? Self.values(of: body, at: times, count, as: Int64.self) : []
        let size = body.count - first - count
        guard size <= (offer.count == 1 ? Int(PLUGIN_OFFER_EVENT_BYTES) : maximumBytes) else { return nil }
        lane = LanePosition(lane: name, position: Array(body[position..<origin]))
        let list = Self.values(of: body, at: lengths, count, as: UInt32.self)
        guard let (events, areLines) = Self.events(in: body, from: first, list) else { return nil }
        (self.events, self.areLines) = (events, areLines)
        self.token = token
        bytes = body
        cost = UInt64(PLUGIN_OFFER_COST) + UInt64(offer.count) * UInt64(PLUGIN_OFFER_EVENT_COST) + UInt64(size)
    }

    /// Where the events lie: one after the other up to the end, each with a line feed behind it.
    private static func events(
        in body: [UInt8], from start: Int, _ lengths: [UInt32]
    ) -> (events: [Range<Int>], areLines: Bool)? {
        var place = start
        var events: [Range<Int>] = []
        events.reserveCapacity(lengths.count)
        var areLines = true
        let isWhole = unsafe body.withUnsafeBytes { bytes in
            for length in lengths {
                let event = place..<place + Int(length)
                guard event.upperBound < bytes.count, unsafe bytes[event.upperBound] == 0x0A else { return false }
                if areLines { areLines = unsafe Self.isLine(UnsafeRawBufferPointer(rebasing: bytes[event])) }
                events.append(event)
                place = event.upperBound + 1
            }
            return place == bytes.count
        }
        return isWhole ? (events, areLines) : nil
    }

    /// Whether an event is one line, and not blank: the scanner leaves out a blank line without a word.
    static func isLine(_ event: UnsafeRawBufferPointer) -> Bool {
        guard unsafe event.contains(where: { !isSpace($0) }) else { return false }
        return unsafe event.firstIndex(ofByte: 0x0A) == nil
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    /// - Precondition: the bytes hold the values.
    private static func values<Value: BitwiseCopyable>(
        of body: [UInt8], at start: Int, _ count: Int, as type: Value.Type
    ) -> [Value] {
        let size = MemoryLayout<Value>.size
        precondition(start >= 0 && (body.count - start) / size >= count, "values outside of their message")
        return unsafe body.withUnsafeBytes { bytes in
            (0..<count).map { unsafe bytes.loadUnaligned(fromByteOffset: start + $0 * size, as: type) }
        }
    }

    /// The name of a lane, or of something else with a longer name; nil: it is none.
    static func name(of bytes: some Collection<UInt8>, limit: UInt32 = PLUGIN_LANE_LIMIT) -> String? {
        guard (1...Int(limit)).contains(bytes.count),
            let name = String(validating: bytes, as: UTF8.self),
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        return name
    }
}
