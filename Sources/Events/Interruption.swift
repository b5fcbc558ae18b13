import Synchronization

/// Asks whoever works on an event to end early, because the result is not wanted any more. It is raised once and
/// stays raised. Any thread.
package final class Interruption: Sendable {
    private let raised = Atomic(false)

    package init() {}

    package var isRaised: Bool { raised.load(ordering: .acquiring) }

    package func raise() { raised.store(true, ordering: .releasing) }
}
