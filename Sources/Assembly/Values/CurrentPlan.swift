import DaemonConfiguration
import Synchronization

/// The tracking plan in force. A reload replaces it, for existing connections too. Any thread.
package final class CurrentPlan: Sendable {
    private let plan: Mutex<Configuration.Plan?>
    private let changes = Atomic<Int>(0)

    package init(_ plan: Configuration.Plan? = nil) {
        self.plan = Mutex(plan)
    }

    package func set(_ plan: Configuration.Plan?) {
        self.plan.withLock { $0 = plan }
        changes.add(1, ordering: .releasing)
    }

    /// The plan, if it has changed since `known`, which is updated.
    func changed(since known: inout Int?) -> Configuration.Plan?? {
        let now = changes.load(ordering: .acquiring)
        guard known != now else { return .none }
        known = now
        return .some(plan.withLock { $0 })
    }
}
