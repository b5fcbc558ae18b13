/// What became of one event.
public enum Outcome: Sendable, Equatable {
    /// Stored or sent, as durably as the sink can.
    case delivered
    /// Offer it again.
    /// - Parameter after: not before that; nil: the host chooses.
    case retry(reason: String?, after: Duration? = nil)
    /// It can never be delivered: the host keeps the event and the reason as a dead letter.
    case rejected(reason: String)

    /// Offer it again.
    public static var retry: Outcome { .retry(reason: nil) }
}
