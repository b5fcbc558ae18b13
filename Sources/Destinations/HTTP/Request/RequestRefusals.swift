import Delivery
import Events

/// Finds the events that a destination would not send, because the service is known to reject them. As
/// `HTTPRequestPreview`, but for many events: the options are read once, and no request is built. One thread.
package struct RequestRefusals {
    private let kinds: [HTTPRequest]
    /// Whether an event can be refused at all.
    private let isNeeded: Bool
    /// An envelope that was accepted, and the kind of request that it names. Most events have the same envelope as the
    /// event before.
    private var accepted: (envelope: [UInt8], number: Int)?

    /// - Throws: the option that is invalid, and why.
    package init(_ options: HTTPOptions) throws(HTTPOptionsError) {
        kinds = try HTTPRequest.all(options)
        isNeeded = kinds.count > 1 || kinds.contains { $0.isAddressed || $0.checks }
    }

    /// The reason why an event would not be sent at its receive time; nil: it would be sent.
    package mutating func reason(for place: Int, of batch: borrowing OutboundBatch) -> String? {
        guard isNeeded else { return nil }
        let event = batch.events[place]
        let envelope = event.payload.lowerBound - event.envelope..<event.payload.lowerBound
        if let accepted, batch.payload.span.extracting(envelope).hasBytes(of: accepted.envelope.span) {
            return RequestPlan.check(event, of: batch, kinds[accepted.number], at: event.receivedAt).refusal
        }
        do throws(RequestText.Refusal) {
            let (request, _) = try RequestPlan.request(for: place, of: batch, kinds, at: event.receivedAt)
            accepted = (Array(batch.payload[envelope]), request.number)
            return nil
        } catch {
            return error.reason
        }
    }
}
