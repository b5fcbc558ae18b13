#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
///     func viewed() { events.screen("Profile") }
/// }
/// ```
///
/// Each call takes the time at which the event happened (`at:`) and the event's id (`messageID:`), for events that are
/// recorded later or may be recorded twice: by a job queue, or for a webhook. `measure` has neither: it times work that
/// happens now.
public protocol EventSending: Sendable {
    /// Records one event. All calls of `track` and all timers call this method. It neither throws nor blocks.
    func send<Event: AnalyticsEvent>(_ event: Event, _ details: EventDetails)

    /// Records something else than a track: `identify`, `page`, `screen`, `group` and `alias` call this method. By
    /// default it reports that nothing is recorded.
    func send(_ call: AnalyticsCall, _ details: EventDetails)

    /// Receives a problem that the caller does not learn about otherwise. By default it is passed to
    /// ``DiagnosticsHandler/standardError``.
    func report(_ diagnostic: Diagnostic)
}

extension EventSending {
    /// The default: reports that nothing is recorded.
    public func send(_ call: AnalyticsCall, _ details: EventDetails) {
        report(
            Diagnostic(
                .invalid, event: call.title, at: details,
                "was not recorded: \(type(of: self)) records tracks only; implement send(_:_:) for an AnalyticsCall"))
    }

    /// The default: writes the diagnostic to standard error.
    public func report(_ diagnostic: Diagnostic) { DiagnosticsHandler.standardError.report(diagnostic) }

    // MARK: Tracks

    /// Records an event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func track(
        _ event: some AnalyticsEvent, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        send(event, EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records an event without its own type: `track("Post Liked", ["Liked": true])`. The name is recorded
    /// unchanged.
    public func track(
        _ name: String, _ properties: [String: PropertyValue] = [:], at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            UntypedEvent(name: name, properties: properties),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records an event without its own type, with values of your variables: `track("Post Liked", ["Liked": isLiked])`.
    @_disfavoredOverload
    public func track(
        _ name: String, _ properties: [String: (any PropertyValueConvertible)?], at date: Date? = nil,
        messageID: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        track(name, [String: PropertyValue](properties), at: date, messageID: messageID, fileID: fileID, line: line)
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
