#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An event as it was recorded: the line of JSON that goes on the wire.
///
/// A provider that sends lines takes `json` and reads nothing. One that hands events to a vendor's SDK
/// reads `name` and `properties`, which are looked up in the line when they are asked for.
///
/// It is always a whole event that the daemon accepts, and so it stays when middleware changes it.
public struct RecordedEvent: Sendable {
    /// The six kinds of the Segment specification; the raw values are the spelling of `type`.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Something happened.
        case track
        /// The user became known, or something about them.
        case identify
        /// A page was seen.
        case page
        /// A screen was seen.
        case screen
        /// The user belongs to a group.
        case group
        /// The user has another id.
        case alias
    }

    /// Which of the six it is.
    public let kind: Kind
    /// What its recording needed consent to.
    public let consentCategory: ConsentCategory
    /// The event as one JSON object: UTF-8, no line feed in it or after it.
    public internal(set) var json: [UInt8]

    init(kind: Kind, consentCategory: ConsentCategory, json: [UInt8]) {
        self.kind = kind
        self.consentCategory = consentCategory
        self.json = json
    }
}

extension RecordedEvent {
    /// Of a track the event's name; of a page or screen its name, which may be empty; of others empty.
    public var name: String {
        get { self[kind == .track ? "event" : "name"]?.string ?? "" }
        set {
            // A track without a name is none.
            guard !(kind == .track && newValue.isEmpty) else { return }
            self[kind == .track ? "event" : "name"] = .string(newValue)
        }
    }

    /// Who did it, if that is known.
    public var userID: String? {
        get { self["userId"]?.string }
        set { setID("userId", newValue, other: "anonymousId") }
    }

    /// Who did it, when that is not known: the same for all of one visitor's events.
    public var anonymousID: String? {
        get { self["anonymousId"]?.string }
        set { setID("anonymousId", newValue, other: "userId") }
    }

    /// Of a group: which one.
    public var groupID: String? { self["groupId"]?.string }

    /// Of an alias: what the user was called before.
    public var previousID: String? { self["previousId"]?.string }

    /// The event's own id: a UUID of version 7.
    public var messageID: String { self["messageId"]?.string ?? "" }

    /// When it was recorded, by this machine's clock.
    public var timestamp: Date { self["timestamp"]?.string.flatMap(RFC3339.date) ?? Date(timeIntervalSince1970: 0) }

    /// Of a page or screen: what sort of one.
    public var category: String? { self["category"]?.string }

    /// Of a track, page or screen: its properties.
    public var properties: [String: PropertyValue] {
        get { self["properties"]?.object ?? [:] }
        set { self["properties"] = .object(newValue) }
    }

    /// Of an identify or a group: what is known about the user or group.
    public var traits: [String: PropertyValue] {
        get { self["traits"]?.object ?? [:] }
        set { self["traits"] = .object(newValue) }
    }

    /// What was recorded around it: the application, the machine, the session.
    public var context: [String: PropertyValue] {
        get { self["context"]?.object ?? [:] }
        set { self["context"] = .object(newValue) }
    }

    /// Which destinations are to have it: `["All": false, "mixpanel": true]`. Nothing here: all that the
    /// daemon's routes name.
    public var integrations: [String: PropertyValue] {
        get { self["integrations"]?.object ?? [:] }
        set { self["integrations"] = newValue.isEmpty ? nil : .object(newValue) }
    }

    /// `context.session`: its `id`, its `kind`, and the session's settings.
    public var session: [String: PropertyValue]? { self[context: "session"]?.object }

    /// Which end of a timed event it is; nil for an event that has none.
    public var timing: EventTiming? {
        guard kind == .track, let timing = self[context: "timing"]?.object, let id = timing["id"]?.string else { return nil }
        switch timing["phase"]?.string {
        case "start": return EventTiming(id: id, phase: .start)
        case "stop": return EventTiming(id: id, phase: .stop(duration: Self.duration(timing["duration"]?.double)))
        default: return nil
        }
    }

    /// A time that middleware may have set to anything.
    private static func duration(_ seconds: Double?) -> Duration {
        guard let seconds, (0...1e9).contains(seconds) else { return .zero }
        return .seconds(seconds)
    }

    /// One property. Setting it leaves all others as they are, to the last digit; nil removes it.
    public subscript(property name: String) -> PropertyValue? {
        get { self["properties", name] }
        set { self["properties", name] = newValue }
    }

    /// One trait; as `subscript(property:)`.
    public subscript(trait name: String) -> PropertyValue? {
        get { self["traits", name] }
        set { self["traits", name] = newValue }
    }

    /// One member of the context; as `subscript(property:)`.
    public subscript(context name: String) -> PropertyValue? {
        get { self["context", name] }
        set { self["context", name] = newValue }
    }
}

extension RecordedEvent: CustomStringConvertible {
    /// The line.
    public var description: String { String(decoding: json, as: UTF8.self) }
}
