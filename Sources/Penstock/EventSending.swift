/// A recorder of events: ``Analytics``, or a replacement in tests.
///
/// A registry depends on this protocol only:
///
/// ```swift
/// struct ProfileRegistry {
///     let events: any EventSending
///
///     func saved(old: Profile, new: Profile) {
///         events.track(ProfileSaved(changedFields: old.differences(from: new).count))
///     }
/// }
/// ```
public protocol EventSending: Sendable {
    /// Records one event. All other methods call this one. It neither throws nor blocks.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - timing: Whether this is the start or the end of a timed event; nil if the event is not timed.
    func send<Event: AnalyticsEvent>(_ event: Event, timing: EventTiming?)

    /// Receives a problem that the caller does not learn about otherwise. By default it is passed to
    /// ``DiagnosticsHandler/standardError``.
    func report(_ diagnostic: Diagnostic)
}

extension EventSending {
    /// The default: writes the diagnostic to standard error.
    public func report(_ diagnostic: Diagnostic) { DiagnosticsHandler.standardError.report(diagnostic) }

    /// Records an event.
    public func track(_ event: some AnalyticsEvent) { send(event, timing: nil) }

    /// Records an event without its own type: `track("Post Liked", ["Liked": true])`. The name is recorded
    /// unchanged.
    public func track(_ name: String, _ properties: [String: PropertyValue] = [:]) {
        send(UntypedEvent(name: name, properties: properties), timing: nil)
    }
}

/// An event whose name and properties are known only at run time.
public struct UntypedEvent: AnalyticsEvent {
    /// The event's name.
    public var name: String
    /// The event's properties.
    public var properties: [String: PropertyValue]
    /// The purpose to which the user must consent.
    public var consentCategory: ConsentCategory

    /// Creates an event. The name is recorded unchanged.
    public init(name: String, properties: [String: PropertyValue] = [:], consentCategory: ConsentCategory = .analytics)
    {
        self.name = name
        self.properties = properties
        self.consentCategory = consentCategory
    }

    /// The event's name.
    public var eventName: String? { name }

    /// Encodes the properties, sorted by name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PropertyName.self)
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
            try container.encode(value, forKey: PropertyName(stringValue: name))
        }
    }
}

/// A coding key whose name is known only at run time.
struct PropertyName: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
