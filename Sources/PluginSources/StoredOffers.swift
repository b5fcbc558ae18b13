import CPluginChannel
import Events
import PluginHosting

/// An offer that was appended.
struct AppendedOffer: Sendable {
    var token: UInt64
    var cost: UInt64
    var lane: LanePosition
    var refusals: [RefusedEvent]
    /// It is stored once the journal's durable end has reached this position.
    var end: UInt64
}

/// The offers that were appended and not yet reported to the plugin as stored, in the order of the journal.
struct StoredOffers {
    /// The bounds of one message.
    private static let offers = 256
    private static let bytes = 256 << 10

    private var waiting: [AppendedOffer] = []
    /// How many of them are gone.
    private var gone = 0

    var isEmpty: Bool { gone == waiting.count }
    /// The durable end at which the first is stored; nil: there is none.
    var nextEnd: UInt64? { isEmpty ? nil : waiting[gone].end }

    mutating func append(_ offer: AppendedOffer) { waiting.append(offer) }

    /// Takes the first offers that are stored, as many as fit one message.
    mutating func take(durableEnd: UInt64) -> [AppendedOffer] {
        var taken: [AppendedOffer] = []
        var size = 0
        while let end = nextEnd, end <= durableEnd, taken.count < Self.offers, size < Self.bytes {
            let offer = waiting[gone]
            gone += 1
            size += offer.refusals.reduce(256) { $0 + $1.reason.utf8.count + 8 }
            taken.append(offer)
        }
        if gone * 2 >= waiting.count {
            waiting.removeFirst(gone)
            gone = 0
        }
        return taken
    }

    /// The body of PLUGIN_STORED.
    static func message(_ offers: [AppendedOffer]) -> [UInt8] {
        var body: [UInt8] = []
        for offer in offers {
            let name = Array(offer.lane.lane.utf8)
            let reasons = offer.refusals.map { Array($0.reason.utf8) }
            body += PluginProcess.bytes(
                of: plugin_stored(
                    token: offer.token, cost: offer.cost, refused: UInt32(offer.refusals.count),
                    name_length: UInt32(name.count), position_length: UInt32(offer.lane.position.count),
                    reasons_length: UInt32(reasons.reduce(0) { $0 + $1.count })))
            for (refusal, reason) in zip(offer.refusals, reasons) {
                body += PluginProcess.bytes(
                    of: plugin_refused(index: UInt32(refusal.index), reason_length: UInt32(reason.count)))
            }
            body += name
            body += offer.lane.position
            for reason in reasons { body += reason }
        }
        return body
    }
}
