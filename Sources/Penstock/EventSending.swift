/// Whatever events can be sent to: ``Analytics``, and stand-ins in tests.
///
/// It is all that a registry depends on:
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
    /// Records one event; everything else is made of it. Neither throws nor blocks.
    ///
    /// - Parameter timing: which end of a timed event this is; nil for an event that has none.
    func send<Event: AnalyticsEvent>(_ event: Event, timing: EventTiming?)

    /// Takes what went wrong and nobody at the call site can be told. If not given, it goes to
    /// ``DiagnosticsHandler/standardError``.
    func report(_ diagnostic: Diagnostic)
}

extension EventSending {
    public func report(_ diagnostic: Diagnostic) { DiagnosticsHandler.standardError.report(diagnostic) }

    /// Records an event.
    public func track(_ event: some AnalyticsEvent) { send(event, timing: nil) }

    /// Records an event that has no type, for the day you need one:
    /// `track("Post Liked", ["Liked": true])`. The name is taken as it is.
    public func track(_ name: String, _ properties: [String: PropertyValue] = [:]) {
        send(UntypedEvent(name: name, properties: properties), timing: nil)
    }
}

/// An event whose name and properties are only known when it is recorded.
public struct UntypedEvent: AnalyticsEvent {
    /// The name on the wire.
    public var name: String
    /// The properties on the wire.
    public var properties: [String: PropertyValue]
    public var consentCategory: ConsentCategory

    public init(name: String, properties: [String: PropertyValue] = [:], consentCategory: ConsentCategory = .analytics) {
        self.name = name
        self.properties = properties
        self.consentCategory = consentCategory
    }

    public var eventName: String? { name }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: PropertyName.self)
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
            try container.encode(value, forKey: PropertyName(stringValue: name))
        }
    }
}

/// A key that is only known when it is written.
struct PropertyName: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
