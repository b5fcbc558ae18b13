import Events

/// Decides about one event for one destination and renders it. One thread at a time: it may keep
/// scratch memory between calls.
package protocol EventRouter: AnyObject {
    /// Appends what the destination is to get (its JSON and a line feed) to `output`, or
    /// nothing. A failure to route one event is not an error of the caller's: it is told as
    /// `.rejected`, and goes to the dead letters.
    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict
    /// One event may take milliseconds, not microseconds: it calls scripts.
    var mayTakeLong: Bool { get }
    /// How far back events lie that it needs to be shown before it is asked; nil: it decides by each event alone.
    var lookback: Lookback? { get }
    /// Takes note of an event that comes before those that it will be asked about. In order.
    func recall(_ event: EventRecord, of batch: borrowing EventBatch)
}

extension EventRouter {
    package var mayTakeLong: Bool { false }
    package var lookback: Lookback? { nil }
    package func recall(_ event: EventRecord, of batch: borrowing EventBatch) {}
}

package enum RouteVerdict: Sendable, Equatable {
    case routed
    /// No route wants it, or `integrations` narrows it away; counted under `reason`.
    case filtered(reason: String)
    case rejected(reason: String)
}
