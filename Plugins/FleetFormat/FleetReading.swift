import PenstockPluginKit

/// Makes offers of the messages of edges. Belongs to one thread at a time.
package final class FleetReading {
    /// Why a message cannot be offered.
    package struct Problem: Error, CustomStringConvertible {
        package var description: String
        /// The message is no batch, and never will be. false: a newer version of Penstock can read it.
        package var isUnreadable: Bool
    }

    /// The most bytes of a body: far more than edges send.
    private static let limit = 32 << 20

    private lazy var expander = FleetExpander(limit: Self.limit)

    package init() {}

    /// - Parameters:
    ///   - header: the message's header field of a name.
    ///   - limits: the most events and bytes of events in an offer. An offer of one event may be larger.
    /// - Returns: the events in their order, in one offer or several.
    package func offers(
        _ frame: UnsafeRawBufferPointer, _ limits: (events: Int, bytes: Int), header: (String) -> String?
    ) throws(Problem) -> [EventBuffer] {
        let version = header(FleetHeader.format) ?? ""
        guard version == FleetHeader.version else {
            throw Problem(
                description: "a message has version \"\(version)\" of \(FleetHeader.format), and this host reads "
                    + "version \(FleetHeader.version): upgrade it",
                isUnreadable: false)
        }
        guard let edge = header(FleetHeader.edge), edge.utf8.count == 36 else {
            throw Problem(description: "\(FleetHeader.edge) is no UUID", isUnreadable: true)
        }
        guard let body = unsafe expander.expand(frame) else {
            throw Problem(description: "its body is no frame of zstd, or is damaged", isUnreadable: true)
        }
        guard let events = FleetBody.read(body) else {
            throw Problem(description: "its body is no table with events", isUnreadable: true)
        }
        let sequence = header(FleetHeader.sequence) ?? ""
        let origin = header(FleetHeader.backfill) == nil ? FleetOrigin.id(edge: edge, sequence: sequence) : nil
        let host = header(FleetHeader.host).flatMap { FleetHeader.isHost($0) ? $0 : nil }
        func empty(from start: Int) -> EventBuffer {
            var offer = EventBuffer(origin: origin, lines: body, from: start)
            offer.host = host
            return offer
        }
        var offers: [EventBuffer] = []
        var offer = empty(from: events.first?.range.lowerBound ?? body.count)
        for event in events {
            let isFull = offer.count >= limits.events || offer.byteCount + event.range.count > limits.bytes
            if isFull, !offer.isEmpty {
                offers.append(offer)
                offer = empty(from: event.range.lowerBound)
            }
            offer.appendLine(
                to: event.range.upperBound, position: event.place.position, part: event.place.part,
                receivedAt: event.receivedAt)
        }
        offers.append(offer)
        return offers
    }
}
