import Delivery
import Synchronization

/// Counts the events of a destination that were changed to fit the limits of their service. Any thread.
package final class MendedEvents: Sendable {
    private let events = Atomic<UInt64>(0)

    package init() {}

    package var count: UInt64 { events.load(ordering: .relaxed) }

    /// Counts the events of a plan that are offered for the first time.
    func add(_ plan: RequestPlan) {
        let framed = plan.requests.filter { $0.body?.isMended ?? false }
        guard !plan.mended.isEmpty || !framed.isEmpty else { return }
        let places = Set(plan.mended.keys).union(framed.flatMap(\.events))
        let first = places.count { plan.batch.events[$0].attempt == 0 }
        events.add(UInt64(first), ordering: .relaxed)
    }
}
