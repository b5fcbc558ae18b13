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
        /// A provider cannot write to its spool on disk, or cannot read it now. It keeps retrying. Events that cannot
        /// be written stay in memory, and events that cannot be read stay on disk.
        public static let spoolFailed = Code(rawValue: "spool_failed")
        /// The anonymous id cannot be written to its file.
        public static let anonymousIDNotKept = Code(rawValue: "anonymous_id_not_kept")
        /// A provider was replaced by another one of the same name.
        public static let providerReplaced = Code(rawValue: "provider_replaced")
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
    /// The name of the event; nil if the problem is not about a single event.
    public var event: String?
    /// The place of the call that recorded the event: `Shop/Checkout.swift:12`; nil if it is not known.
    public var callSite: String?

    /// Creates a diagnostic about the given number of events.
    public init(_ code: Code, _ message: String, events: Int = 1) {
        self.code = code
        self.message = message
        self.events = events
    }

    /// Creates a diagnostic about one event. The message begins with its name and the place of the call.
    ///
    /// - Parameters:
    ///   - code: The kind of problem.
    ///   - event: The event's name.
    ///   - details: The details of the call.
    ///   - problem: The rest of the message: what happened to the event.
    public init(_ code: Code, event: String, at details: EventDetails, _ problem: String) {
        self.init(code, event: event, callSite: details.callSite, problem)
    }

    /// Creates a diagnostic about one event, for a provider. The message begins with its name and, if it is known, the
    /// place of the call.
    ///
    /// - Parameters:
    ///   - code: The kind of problem.
    ///   - event: The event.
    ///   - problem: The rest of the message: what happened to the event.
    public init(_ code: Code, about event: RecordedEvent, _ problem: String) {
        self.init(code, event: event.title, callSite: event.callSite, problem)
    }

    private init(_ code: Code, event: String, callSite: String?, _ problem: String) {
        let name = event.contains("\"") ? event : "\"\(event)\""
        self.init(code, "\(name)\(callSite.map { " at \($0)" } ?? "") \(problem)")
        self.event = event
        self.callSite = callSite
    }

    /// A diagnostic about a call that records no event itself.
    init(_ code: Code, about subject: String, at details: EventDetails, _ problem: String) {
        self.init(code, "\(subject) at \(details.callSite) \(problem)", events: 0)
        callSite = details.callSite
    }

    /// The code and the message.
    public var description: String { "\(code.rawValue): \(message)" }
}
