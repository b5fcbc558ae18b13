import DaemonConfiguration
import Events
import Ingest
import Routing
import TrackingPlan

/// Adapts Routing's tracking plans to Ingest's protocol. One event loop only.
package final class PlanInspector: EventInspector {
    private let current: CurrentPlan
    private var known: Int?
    private var enforcer: PlanEnforcer?
    private let limits: SourceLimits
    /// The most bytes by which the events of one slice may grow, so that they still fit into the journal's queue.
    private let room: Int
    private var roomLeft = 0

    package init(_ current: CurrentPlan, for source: Configuration.Source, _ journal: Configuration.Journal) {
        self.current = current
        limits = SourceLimits(source)
        room = journal.queue / 2
    }

    package func begin() -> Bool {
        roomLeft = room
        if let changed = current.changed(since: &known) {
            enforcer = changed.map { plan in
                PlanEnforcer(
                    plan.rules, onViolation: .init(plan.onViolation), limit: plan.maximumViolations,
                    maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)
            }
        }
        return enforcer != nil
    }

    package func inspect(_ json: Span<UInt8>, _ index: EventIndex) -> Inspection {
        guard let enforcer else { return .passes }
        switch enforcer.judge(json, index, room: roomLeft) {
        case .pass: return .passes
        case .note(let reason): return .noted(reason)
        case .edit(let reason):
            roomLeft -= max(0, enforcer.edited.count - json.count)
            return .rewritten(reason)
        case .refuse(let refusal): return .refused(refusal)
        }
    }

    package func appendRewritten(to output: inout [UInt8]) {
        if let enforcer { output.append(contentsOf: enforcer.edited.span) }
    }
}

extension PlanEnforcer.OnViolation {
    fileprivate init(_ onViolation: TrackingPlan.OnViolation) {
        self =
            switch onViolation {
            case .allow: .allow
            case .flag: .flag
            case .strip: .strip
            case .refuse: .refuse
            }
    }
}
