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

    /// 64 random bits: there are never many timers at once.
    static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// From the start to this end, in seconds; nil for a start.
    public var seconds: Double? {
        guard case .stop(let duration) = phase else { return nil }
        return duration / .seconds(1)
    }
}

extension EventTiming {
    /// Appends it as JSON; the duration in seconds, to the microsecond.
    func append(to text: inout JSONText) {
        text.append("{\"id\":")
        text.append(string: id)
        if let seconds {
            text.append(",\"phase\":\"stop\",\"duration\":")
            _ = text.append((seconds * 1_000_000).rounded() / 1_000_000)
        } else {
            text.append(",\"phase\":\"start\"")
        }
        text.append(byte: "}")
    }
}
