import Delivery
import Events
import Routing

/// Routing as Delivery asks for it: the router's output, framed as a batch of a destination's.
/// The worker's thread only.
package final class RoutedEvents: EventRouter {
    private let router: DestinationRouter

    package init(_ router: DestinationRouter) {
        self.router = router
    }

    package func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> Delivery.RouteVerdict {
        let start = output.payload.count
        switch router.route(event, of: batch, into: &output.payload) {
        case .routed(let messageID):
            let end = output.payload.count
            output.payload.append(UInt8(ascii: "\n"))
            output.events.append(
                OutboundEvent(
                    position: event.position, receivedAt: event.receivedAt, kind: event.index.kind,
                    payload: start..<end, messageID: messageID))
            return .routed
        case .split(let parts):
            output.payload.append(UInt8(ascii: "\n"))
            for (number, part) in parts.enumerated() {
                output.events.append(
                    OutboundEvent(
                        position: event.position, part: UInt32(clamping: number), receivedAt: event.receivedAt, kind: event.index.kind,
                        payload: part.json, messageID: part.messageID))
            }
            return .routed
        case .filtered(let reason): return .filtered(reason: reason)
        case .rejected(let reason): return .rejected(reason: reason)
        }
    }
}
