import Delivery
import Events
import Routing

/// Adapts Routing to Delivery's protocol: frames the router's output as an outbound batch. The worker's thread only.
package final class RoutedEvents: EventRouter {
    private let router: DestinationRouter
    private let marksUsers: Bool
    private let writesEnvelopes: Bool
    /// Discarded output of recalled events.
    private var recalled: [UInt8] = []

    /// - Parameter marksUsers: mark each event with its user.
    package init(_ router: DestinationRouter, marksUsers: Bool = false) {
        self.router = router
        writesEnvelopes = router.writesEnvelopes
        self.marksUsers = marksUsers
    }

    package func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch)
        -> Delivery.RouteVerdict
    {
        let (start, first) = (output.payload.count, output.events.count)
        let verdict = self.verdict(on: event, of: batch, into: &output, from: start)
        if marksUsers, output.events.count > first {
            let user = Self.user(event, in: batch)
            for index in first..<output.events.count { output.events[index].user = user }
        }
        return verdict
    }

    package var mayTakeLong: Bool { router.mayTakeLong }
    package var lookback: Lookback? { router.lookback }
    package var selection: (any EventSelection)? { router.selection }

    package func recall(_ event: EventRecord, of batch: borrowing EventBatch) {
        _ = router.route(event, of: batch, into: &recalled)
        recalled.removeAll(keepingCapacity: true)
    }

    /// Where the event's user id lies, or its anonymous id, in a copy of the event.
    private static func userID(_ index: EventIndex, from start: Int) -> Range<Int> {
        // An id that is no string is not in the index.
        if index.flags.contains(.hasOtherValues) { return 0..<0 }
        let id = index.userID.length > 0 ? index.userID : index.anonymousID
        return id.length > 0 ? start + id.range.lowerBound..<start + id.range.upperBound : 0..<0
    }

    /// A hash of the event's user id, or of its anonymous id if it has none, as written.
    private static func user(_ event: EventRecord, in batch: borrowing EventBatch) -> UInt64 {
        // An empty id counts as none. Journals of early versions hold such indexes.
        let isUser = event.index.userID.length > 0
        let id = isUser ? event.index.userID : event.index.anonymousID
        var hasher = Hasher()
        hasher.combine(isUser)
        if id.length > 0 {
            let json = batch.json(of: event)
            for place in id.range { hasher.combine(json[place]) }
        }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    private func verdict(
        on event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch, from start: Int
    ) -> Delivery.RouteVerdict {
        switch router.route(event, of: batch, into: &output.payload) {
        case .routed(let messageID, let isCopy):
            let end = output.payload.count
            output.payload.append(UInt8(ascii: "\n"))
            var routed = OutboundEvent(
                position: event.position, receivedAt: event.receivedAt, firstReceivedAt: event.firstReceivedAt,
                kind: event.index.kind, payload: start..<end, messageID: messageID)
            if isCopy { routed.userID = Self.userID(event.index, from: start) }
            append(routed, to: &output)
            return .routed
        case .split(let parts):
            output.payload.append(UInt8(ascii: "\n"))
            for (number, part) in parts.enumerated() {
                append(
                    OutboundEvent(
                        position: event.position, part: UInt32(clamping: number), receivedAt: event.receivedAt,
                        firstReceivedAt: event.firstReceivedAt, kind: event.index.kind, payload: part.json,
                        messageID: part.messageID), to: &output)
            }
            return .routed
        case .filtered(let reason): return .filtered(reason: reason)
        case .rejected(let reason): return .rejected(reason: reason)
        }
    }

    /// Separates the envelope from the event, if the router writes envelopes.
    @inline(__always)
    private func append(_ event: OutboundEvent, to output: inout OutboundBatch) {
        var event = event
        if writesEnvelopes, let end = output.payload[event.payload].firstIndex(of: 0) {
            event.envelope = end + 1 - event.payload.lowerBound
            event.payload = end + 1..<event.payload.upperBound
        }
        output.events.append(event)
    }
}
