/// A provider that wraps a vendor's SDK. Implement the methods that the SDK supports; the others have a default.
///
/// ```swift
/// struct FirebaseProvider: VendorProvider {
///     let wrapper: any FirebaseWrapper    // the five functions of the SDK in use; tests replace them
///
///     func track(_ event: RecordedEvent) {
///         wrapper.logEvent(EventNamePolicy.snakeCase.spelling(of: event.name), parameters: event.properties)
///     }
///     func identify(_ event: RecordedEvent) { wrapper.setUserID(event.userID) }
/// }
/// ```
///
/// | not implemented | default |
/// | --- | --- |
/// | `identify`, `group`, `alias` | nothing |
/// | `page`, `screen` | a track: "Viewed Checkout Page", "Viewed Inbox Screen" |
/// | `timedEventStarted` | nothing |
/// | `timedEventStopped` | a track with the property `duration`, in seconds |
public protocol VendorProvider: AnalyticsProvider {
    /// Takes a track: `event.name` with `event.properties`.
    func track(_ event: RecordedEvent)
    /// Takes an identify: `event.userID`, `event.traits`, `event.session`.
    func identify(_ event: RecordedEvent)
    /// Takes a page view.
    func page(_ event: RecordedEvent)
    /// Takes a screen view.
    func screen(_ event: RecordedEvent)
    /// Takes a group: `event.groupID`, `event.traits`.
    func group(_ event: RecordedEvent)
    /// Takes an alias: the user's id changed from `event.previousID` to `event.userID`.
    func alias(_ event: RecordedEvent)
    /// Takes the start of a timed event. Its end has the same `timing.id`.
    func timedEventStarted(_ event: RecordedEvent, timing: EventTiming)
    /// Takes the end of a timed event, `timing.seconds` after its start.
    func timedEventStopped(_ event: RecordedEvent, timing: EventTiming)
}

extension VendorProvider {
    /// Calls the method for the kind of the event.
    public func record(_ event: RecordedEvent) {
        switch event.kind {
        case .track:
            guard let timing = event.timing else { return track(event) }
            switch timing.phase {
            case .start: timedEventStarted(event, timing: timing)
            case .stop: timedEventStopped(event, timing: timing)
            }
        case .identify: identify(event)
        case .page: page(event)
        case .screen: screen(event)
        case .group: group(event)
        case .alias: alias(event)
        }
    }

    /// The default: does nothing.
    public func identify(_ event: RecordedEvent) {}
    /// The default: does nothing.
    public func group(_ event: RecordedEvent) {}
    /// The default: does nothing.
    public func alias(_ event: RecordedEvent) {}
    /// The default: calls `track(_:)` with "Viewed NAME Page".
    public func page(_ event: RecordedEvent) { track(event.asTrack(of: "Page")) }
    /// The default: calls `track(_:)` with "Viewed NAME Screen".
    public func screen(_ event: RecordedEvent) { track(event.asTrack(of: "Screen")) }
    /// The default: does nothing.
    public func timedEventStarted(_ event: RecordedEvent, timing: EventTiming) {}

    /// The default: calls `track(_:)` with the property `duration`, in seconds.
    public func timedEventStopped(_ event: RecordedEvent, timing: EventTiming) {
        var event = event
        event[property: "duration"] = timing.seconds.map { .double($0) }
        track(event)
    }
}

extension RecordedEvent {
    /// Returns a page or screen view as a track named "Viewed NAME Page" or "Viewed NAME Screen", with the same
    /// properties.
    func asTrack(of noun: String) -> RecordedEvent {
        let name = name.isEmpty ? "Viewed \(noun)" : "Viewed \(name) \(noun)"
        var track = RecordedEvent(kind: .track, consentCategory: consentCategory, json: json, at: site)
        track["type"] = "track"
        track["event"] = .string(name)
        return track
    }
}
