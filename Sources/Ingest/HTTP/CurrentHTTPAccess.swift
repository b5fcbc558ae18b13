import Synchronization

/// The access of a listener in the running configuration. A reload changes it for connected clients, too, so that a
/// write key that was removed is refused at once. Any thread.
package final class CurrentHTTPAccess: Sendable {
    private let access: Mutex<HTTPAccess>
    private let changes = Atomic<UInt64>(0)

    /// Grows with each change.
    var generation: UInt64 { changes.load(ordering: .acquiring) }

    package init(_ access: HTTPAccess) {
        self.access = Mutex(access)
    }

    package var value: HTTPAccess {
        get { access.withLock { $0 } }
        set {
            access.withLock { $0 = newValue }
            changes.add(1, ordering: .releasing)
        }
    }

    var isWithdrawn: Bool { access.withLock { $0.isWithdrawn } }

    /// The listener is no longer configured.
    func withdraw() {
        access.withLock { $0.isWithdrawn = true }
        changes.add(1, ordering: .releasing)
    }
}
