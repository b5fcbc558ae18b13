import Synchronization

/// The access of a listener in the running configuration. A reload changes it for connected clients, too, so that a
/// write key that was removed is refused at once. Any thread.
package final class CurrentHTTPAccess: Sendable {
    private let access: Mutex<HTTPAccess>

    package init(_ access: HTTPAccess) {
        self.access = Mutex(access)
    }

    package var value: HTTPAccess {
        get { access.withLock { $0 } }
        set { access.withLock { $0 = newValue } }
    }

    var isWithdrawn: Bool { access.withLock { $0.isWithdrawn } }

    /// The listener is no longer configured.
    func withdraw() { access.withLock { $0.isWithdrawn = true } }
}
