#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A recorded event: the line of JSON that is sent.
///
/// A provider that sends lines uses `json` unchanged. A provider that calls a vendor's SDK reads `name` and
/// `properties`, which are looked up in the line on access.
///
/// The line is always a complete event that the daemon accepts, even after middleware has changed it.
public struct RecordedEvent: Sendable {
    /// The six kinds of events in the Segment specification. The raw values are the values of `type`.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Something happened.
        case track
        /// The user was identified, or their traits changed.
        case identify
        /// The user viewed a page.
        case page
        /// The user viewed a screen.
        case screen
        /// The user belongs to a group.
        case group
        /// The user's id changed.
        case alias
    }

    /// The kind of the event.
    public let kind: Kind
    /// The purpose to which the user had to consent.
    public let consentCategory: ConsentCategory
    /// The event as one JSON object in UTF-8, without line feeds inside or after it.
    public internal(set) var json: [UInt8]

    /// The event as the application recorded it: a value of its own type, before middleware. It is nil if no provider
    /// asked for it (``AnalyticsProvider/receivesTypes``), if the event is not a track, or if it was redacted.
    public internal(set) var source: (any AnalyticsEvent)?

    /// The place of the call that recorded the event; nil if it is not known, as for a line that was read from disk.
    package private(set) var site: CallSite?

    /// The place of the call that recorded the event, for diagnostics: `Shop/Checkout.swift:12`; nil if it is not
    /// known.
    public var callSite: String? { site?.description }

    init(kind: Kind, consentCategory: ConsentCategory, json: [UInt8], at site: CallSite? = nil) {
        self.kind = kind
        self.consentCategory = consentCategory
        self.json = json
        self.site = site
    }
}

extension RecordedEvent {
    /// The name of a track, a page or a screen; empty for other kinds. The name of a page or screen may be empty.
    public var name: String {
        get { self[kind == .track ? "event" : "name"]?.string ?? "" }
        set {
            // A track must have a name.
            guard !(kind == .track && newValue.isEmpty) else { return }
            self[kind == .track ? "event" : "name"] = .string(newValue)
        }
    }

    /// The name of a track, the kind and the name of a page or screen, or the kind alone: for diagnostics.
    var title: String {
        switch kind {
        case .track: name
        case .page, .screen: "\(kind.rawValue) \"\(name)\""
        case .identify, .group, .alias: kind.rawValue
        }
    }

    /// The id of the user; nil if the user is unknown.
    public var userID: String? {
        get { self["userId"]?.string }
        set { setID("userId", newValue, other: "anonymousId") }
    }

    /// The id of the visitor while the user is unknown.
    public var anonymousID: String? {
        get { self["anonymousId"]?.string }
        set { setID("anonymousId", newValue, other: "userId") }
    }

    /// The group's id, in a group event.
    public var groupID: String? { self["groupId"]?.string }

    /// The user's previous id, in an alias event.
    public var previousID: String? { self["previousId"]?.string }

    /// The event's unique id: a UUID of version 7.
    public var messageID: String { self["messageId"]?.string ?? "" }

    /// The time of recording, by this machine's clock.
    public var timestamp: Date { self["timestamp"]?.string.flatMap(RFC3339.date) ?? Date(timeIntervalSince1970: 0) }

    /// The category of a page or screen.
    public var category: String? { self["category"]?.string }

    /// The properties of a track, page or screen.
    public var properties: [String: PropertyValue] {
        get { self["properties"]?.dictionary ?? [:] }
        set { self["properties"] = .dictionary(newValue) }
    }

    /// The traits in an identify or group event.
    public var traits: [String: PropertyValue] {
        get { self["traits"]?.dictionary ?? [:] }
        set { self["traits"] = .dictionary(newValue) }
    }

    /// The circumstances of the event: the application, the machine, the session.
    public var context: [String: PropertyValue] {
        get { self["context"]?.dictionary ?? [:] }
        set { self["context"] = .dictionary(newValue) }
    }

    /// The destinations that may receive the event, for example `["All": false, "mixpanel": true]`. If it is empty, the
    /// daemon's routes decide alone.
    public var integrations: [String: PropertyValue] {
        get { self["integrations"]?.dictionary ?? [:] }
        set { self["integrations"] = newValue.isEmpty ? nil : .dictionary(newValue) }
    }

    /// The member `context.session`: its `id`, its `kind` and the session's settings.
    public var session: [String: PropertyValue]? { self[context: "session"]?.dictionary }

    /// Whether this is the start or the end of a timed event; nil if the event is not timed.
    public var timing: EventTiming? {
        guard kind == .track, let timing = self[context: "timing"]?.dictionary, let id = timing["id"]?.string else {
            return nil
        }
        switch timing["phase"]?.string {
        case "start": return EventTiming(id: id, phase: .start)
        case "stop":
            return EventTiming(
                id: id, phase: .stop(duration: EventTiming.duration(ofSeconds: timing["duration"]?.double ?? 0)))
        default: return nil
        }
    }

    /// Accesses one property. Setting it leaves all other properties unchanged, to the last digit. Setting nil removes
    /// it.
    public subscript(property name: String) -> PropertyValue? {
        get { self["properties", name] }
        set { self["properties", name] = newValue }
    }

    /// Accesses one trait, in the same way as a property.
    public subscript(trait name: String) -> PropertyValue? {
        get { self["traits", name] }
        set { self["traits", name] = newValue }
    }

    /// Accesses one member of the context, in the same way as a property.
    public subscript(context name: String) -> PropertyValue? {
        get { self["context", name] }
        set { self["context", name] = newValue }
    }
}

extension RecordedEvent: CustomStringConvertible {
    /// The event's line of JSON.
    public var description: String { String(decoding: json, as: UTF8.self) }
}
