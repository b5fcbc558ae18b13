/// A provider that wraps a vendor's SDK. What the SDK has no notion of needs no code: it gets the next
/// best thing.
///
/// ```swift
/// struct FirebaseProvider: VendorProvider {
///     let wrapper: any FirebaseWrapper    // the five functions of the SDK that are used, so that tests can stand in
///
///     func track(_ event: RecordedEvent) {
///         wrapper.logEvent(EventNamePolicy.snakeCase.spelling(of: event.name), parameters: event.properties)
///     }
///     func identify(_ event: RecordedEvent) { wrapper.setUserID(event.userID) }
/// }
/// ```
///
/// | not given | the next best thing |
/// | --- | --- |
/// | `identify`, `group`, `alias` | nothing |
/// | `page`, `screen` | a track: "Viewed Checkout Page", "Viewed Inbox Screen" |
/// | `timedEventStarted` | nothing |
/// | `timedEventStopped` | a track with the property `duration`, in seconds |
public protocol VendorProvider: AnalyticsProvider {
    /// Something happened: `event.name` with `event.properties`.
    func track(_ event: RecordedEvent)
    /// The user became known, or something about them: `event.userID`, `event.traits`, `event.session`.
    func identify(_ event: RecordedEvent)
    /// A page was seen.
    func page(_ event: RecordedEvent)
    /// A screen was seen.
    func screen(_ event: RecordedEvent)
    /// The user belongs to a group: `event.groupID`, `event.traits`.
    func group(_ event: RecordedEvent)
    /// The user is now called `event.userID`, and was `event.previousID`.
    func alias(_ event: RecordedEvent)
    /// A timed event has begun; `timing.id` will be that of its end.
    func timedEventStarted(_ event: RecordedEvent, timing: EventTiming)
    /// A timed event has ended, `timing.seconds` after its begin.
    func timedEventStopped(_ event: RecordedEvent, timing: EventTiming)
}

extension VendorProvider {
    /// Calls the function for what the event is.
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

    /// Nothing.
    public func identify(_ event: RecordedEvent) {}
    /// Nothing.
    public func group(_ event: RecordedEvent) {}
    /// Nothing.
    public func alias(_ event: RecordedEvent) {}
    /// A track.
    public func page(_ event: RecordedEvent) { track(event.asTrack(of: "Page")) }
    /// A track.
    public func screen(_ event: RecordedEvent) { track(event.asTrack(of: "Screen")) }
    /// Nothing.
    public func timedEventStarted(_ event: RecordedEvent, timing: EventTiming) {}

    /// A track with the duration.
    public func timedEventStopped(_ event: RecordedEvent, timing: EventTiming) {
        var event = event
        event[property: "duration"] = timing.seconds.map { .double($0) }
        track(event)
    }
}

extension RecordedEvent {
    /// A page or screen as a track, "Viewed NAME Page", with the same properties.
    func asTrack(of noun: String) -> RecordedEvent {
        let name = name.isEmpty ? "Viewed \(noun)" : "Viewed \(name) \(noun)"
        var track = RecordedEvent(kind: .track, consentCategory: consentCategory, json: json)
        track["type"] = "track"
        track["event"] = .string(name)
        return track
    }
}
