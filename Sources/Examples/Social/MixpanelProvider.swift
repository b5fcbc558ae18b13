import Penstock

/// The functions of Mixpanel's SDK that the application uses.
nonisolated protocol MixpanelWrapper: Sendable {
    func track(event: String, properties: [String: PropertyValue])
    func time(event: String)
    func identify(distinctID: String)
    func set(properties: [String: PropertyValue])
}

struct MixpanelProvider: VendorProvider {
    let wrapper: any MixpanelWrapper

    func track(_ event: RecordedEvent) { wrapper.track(event: event.name, properties: event.properties) }
    func identify(_ event: RecordedEvent) {
        wrapper.identify(distinctID: event.userID ?? event.anonymousID ?? "")
        wrapper.set(properties: event.traits)
    }
    func timedEventStarted(_ event: RecordedEvent, timing: EventTiming) { wrapper.time(event: event.name) }
    func timedEventStopped(_ event: RecordedEvent, timing: EventTiming) { track(event) }
}
