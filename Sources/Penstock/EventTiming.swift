/// Which end of a timed event an event is: `context.timing` on the wire.
public struct EventTiming: Sendable, Hashable {
    /// An end.
    public enum Phase: Sendable, Hashable {
        case start
        /// - Parameter duration: from the start, by a clock that nobody sets.
        case stop(duration: Duration)
    }

    /// The same for both ends, and for no other pair.
    public var id: String
    public var phase: Phase

    public init(id: String, phase: Phase) {
        self.id = id
        self.phase = phase
    }

    /// From the start to this end, in seconds; nil for a start.
    public var seconds: Double? {
        guard case .stop(let duration) = phase else { return nil }
        return duration / .seconds(1)
    }
}
