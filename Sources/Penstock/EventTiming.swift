/// The start or the end of a timed event, recorded as `context.timing`.
public struct EventTiming: Sendable, Hashable {
    /// Start or end.
    public enum Phase: Sendable, Hashable {
        /// The start.
        case start
        /// The end.
        /// - Parameter duration: The time since the start, by a monotonic clock.
        case stop(duration: Duration)
    }

    /// The id that the start and the end share. It differs from that of every other timed event.
    public var id: String
    /// Whether this is the start or the end.
    public var phase: Phase

    /// Creates the start or the end of the timed event `id`.
    public init(id: String, phase: Phase) {
        self.id = id
        self.phase = phase
    }

    /// 64 random bits are enough, because few timers run at once.
    static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// Two dates, and middleware, can give any number, even one that no `Duration` can hold.
    static func duration(ofSeconds seconds: Double) -> Duration {
        .seconds(seconds.isNaN ? 0 : min(max(0, seconds), 1e9))
    }

    /// The time since the start in seconds; nil for a start.
    public var seconds: Double? {
        guard case .stop(let duration) = phase else { return nil }
        return duration / .seconds(1)
    }
}

extension EventTiming {
    /// Appends the timing as JSON. The duration is in seconds, rounded to microseconds.
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
