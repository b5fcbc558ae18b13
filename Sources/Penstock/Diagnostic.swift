/// Something that went wrong, or was left out, while events were recorded or delivered. A call site is
/// never told: it has something better to do.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// What happened. More may be added.
    public struct Code: Sendable, Hashable, RawRepresentable {
        /// An event could not be encoded, and was not recorded.
        public static let notEncodable = Code(rawValue: "not_encodable")
        /// An event without a name, or without a user, was not recorded.
        public static let invalid = Code(rawValue: "invalid")
        /// An event is larger than `Analytics.Options.maximumEventSize`, and was not recorded.
        public static let tooLarge = Code(rawValue: "too_large")
        /// A value that JSON has no word for became null.
        public static let valueReplaced = Code(rawValue: "value_replaced")
        /// A timer was let go without `stop()` or `cancel()`.
        public static let timerForgotten = Code(rawValue: "timer_forgotten")
        /// More events wait for consent than `Analytics.Options.heldEvents` allows.
        public static let heldEventsFull = Code(rawValue: "held_events_full")
        /// A provider dropped events: its queue, or its spool, is full.
        public static let eventsDropped = Code(rawValue: "events_dropped")
        /// The other side refused an event for good.
        public static let eventRefused = Code(rawValue: "event_refused")
        /// A provider cannot reach the other side; it goes on trying.
        public static let unreachable = Code(rawValue: "unreachable")
        /// Something asked for was not there: a provider of that name, for instance.
        public static let notFound = Code(rawValue: "not_found")

        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }
    }

    public var code: Code
    /// One sentence: what happened, to which event, and what to do about it.
    public var message: String
    /// How many events it is about.
    public var events: Int

    public init(_ code: Code, _ message: String, events: Int = 1) {
        self.code = code
        self.message = message
        self.events = events
    }

    public var description: String { "\(code.rawValue): \(message)" }
}
