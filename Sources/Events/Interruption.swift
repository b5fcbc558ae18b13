import Synchronization

/// Asks the code that processes an event to stop early because the result is no longer needed. Once raised, it stays
/// raised. Any thread.
package final class Interruption: Sendable {
    private let raised = Atomic(false)

    package init() {}

    package var isRaised: Bool { raised.load(ordering: .acquiring) }

    package func raise() { raised.store(true, ordering: .releasing) }
}
