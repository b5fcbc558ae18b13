import Penstock

/// The functions of Firebase's SDK that the application uses. The SDK conforms in the target that links it.
nonisolated protocol FirebaseWrapper: Sendable {
    func logEvent(_ name: String, parameters: [String: PropertyValue])
    func setUserID(_ userID: String?)
}

struct FirebaseProvider: VendorProvider {
    let wrapper: any FirebaseWrapper

    func track(_ event: RecordedEvent) {
        wrapper.logEvent(EventNamePolicy.snakeCase.spelling(of: event.name), parameters: event.properties)
    }
    func identify(_ event: RecordedEvent) { wrapper.setUserID(event.userID) }
}
