import Events

/// Decides whether a destination gets an event, and renders it. Use by one thread at a time: a router may keep scratch
/// memory between calls.
package protocol EventRouter: AnyObject {
    /// Appends the rendered event (its JSON and a line feed) to `output`, or nothing. If one event can't be routed, the
    /// router returns `.rejected`, and the event becomes a dead letter; the call itself never fails.
    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict
    /// The router calls scripts: one event may take milliseconds instead of microseconds.
    var mayTakeLong: Bool { get }
    /// How far back the router must see earlier events before it is asked about one; nil: it decides by each event
    /// alone.
    var lookback: Lookback? { get }
    /// The events that `route` may be asked about; the answer for any other would be `.filtered`, with no trace left in
    /// the router. Nil: any event.
    var selection: (any EventSelection)? { get }
    /// Remembers an event that precedes those it will be asked about. Called in journal order.
    func recall(_ event: EventRecord, of batch: borrowing EventBatch)
}

extension EventRouter {
    package var mayTakeLong: Bool { false }
    package var lookback: Lookback? { nil }
    package var selection: (any EventSelection)? { nil }
    package func recall(_ event: EventRecord, of batch: borrowing EventBatch) {}
}

package enum RouteVerdict: Sendable, Equatable {
    case routed
    /// No route matches, or `integrations` excludes the destination. Counted under `reason`.
    case filtered(reason: String)
    case rejected(reason: String)
}
