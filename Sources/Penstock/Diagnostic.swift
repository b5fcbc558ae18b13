/// A problem while events were recorded or delivered. Diagnostics go to the diagnostics handler; the call that recorded
/// the event never fails.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem. Future versions may add codes.
    public struct Code: Sendable, Hashable, RawRepresentable {
        /// The event could not be encoded and was not recorded.
        public static let notEncodable = Code(rawValue: "not_encodable")
        /// The event has no name or no user, and was not recorded.
        public static let invalid = Code(rawValue: "invalid")
        /// The event is larger than `Analytics.Options.maximumEventSize` and was not recorded.
        public static let tooLarge = Code(rawValue: "too_large")
        /// JSON cannot represent a value, which was recorded as null.
        public static let valueReplaced = Code(rawValue: "value_replaced")
        /// A timer was released without `stop()` or `cancel()`.
        public static let timerForgotten = Code(rawValue: "timer_forgotten")
        /// An event was dropped because `Analytics.Options.heldEvents` events already wait for consent.
        public static let heldEventsFull = Code(rawValue: "held_events_full")
        /// A provider dropped events because its queue or its spool is full.
        public static let eventsDropped = Code(rawValue: "events_dropped")
        /// The daemon or the service rejected an event permanently.
        public static let eventRefused = Code(rawValue: "event_refused")
        /// A provider cannot reach the daemon or the service. It keeps retrying.
        public static let unreachable = Code(rawValue: "unreachable")
        /// A provider cannot write to its spool on disk. It keeps retrying, and keeps the events in memory.
        public static let spoolFailed = Code(rawValue: "spool_failed")
        /// The named object does not exist, for example a provider of that name.
        public static let notFound = Code(rawValue: "not_found")

        /// The code in snake_case, for logs.
        public let rawValue: String

        /// Creates a code, for a provider with its own codes.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of problem.
    public var code: Code
    /// What happened, to which event, and what to do about it.
    public var message: String
    /// The number of affected events.
    public var events: Int

    /// Creates a diagnostic about the given number of events.
    public init(_ code: Code, _ message: String, events: Int = 1) {
        self.code = code
        self.message = message
        self.events = events
    }

    /// The code and the message.
    public var description: String { "\(code.rawValue): \(message)" }
}
