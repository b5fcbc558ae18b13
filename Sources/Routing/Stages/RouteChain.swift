import Events

/// What happens to an event behind the route that takes it: the route's transforms, the
/// destination's filter, the destination's transforms, in this order.
///
/// All of it reads the event as it came, in one pass, and all edits are written at once, as long
/// as nothing reads or writes what something before it has written; but a field may be rewritten
/// (`Overlay.rewrite`) after it, or something in it, was edited. Where that happens, a new stage
/// begins: the event is written out and read again. A rewriting transform is a stage of its own.
struct RouteChain {
    enum Stage {
        case edits(EditStage)
        case rewrite(RewriteStage)
    }

    enum Step {
        case requirement(Filter)
        case edit(Transform, any EditingTransform)
        case rewrite(Transform, any RewritingTransform)

        init(_ transform: Transform) {
            switch transform.definition {
            case let editing as any EditingTransform: self = .edit(transform, editing)
            case let rewriting as any RewritingTransform: self = .rewrite(transform, rewriting)
            default: preconditionFailure("the transform \(transform.name) neither edits nor rewrites")
            }
        }

        var reads: [FieldPath] {
            switch self {
            case .requirement(let filter): filter.expression.paths
            case .edit(let transform, let definition): transform.condition.expression.paths + definition.reads
            case .rewrite: []
            }
        }

        var writes: [FieldPath] {
            if case .edit(_, let definition) = self { definition.writes } else { [] }
        }

        /// Whether it takes what another step has written as it was before.
        func misses(_ path: FieldPath) -> Bool {
            if reads.contains(where: { $0.overlaps(path) }) { return true }
            guard case .edit(_, let definition) = self else { return false }
            let rewrites = definition.rewrites
            return writes.contains { $0.overlaps(path) && !(rewrites.contains($0) && path.isWithin($0)) }
        }
    }

    let stages: [Stage]
    /// The last stage, if it edits: it can give an event its message id.
    var last: EditStage? { if case .edits(let stage)? = stages.last { stage } else { nil } }

    /// - Parameters:
    ///   - endsInEdits: adds a stage that edits nothing where there would be none at the end.
    ///   - separate: a stage for each step, for whoever wants to see the event between them.
    init(_ steps: [Step], endsInEdits: Bool, separate: Bool = false, _ surroundings: StageSurroundings, _ table: inout PathTable) {
        var stages: [Stage] = []
        var group: [Step] = []
        var written: [FieldPath] = []
        func endGroup() {
            if !group.isEmpty { stages.append(.edits(EditStage(group, surroundings, &table))) }
            group = []
            written = []
        }
        for step in steps {
            if case .rewrite(let transform, let definition) = step {
                endGroup()
                stages.append(.rewrite(RewriteStage(transform, definition, surroundings, &table)))
                continue
            }
            if separate || written.contains(where: step.misses) { endGroup() }
            group.append(step)
            written += step.writes
            // When an item of a list goes, those behind it get other numbers.
            written += step.writes.filter(\.endsInNumber).map { FieldPath($0.segments.dropLast()) }
        }
        endGroup()
        if case .edits? = stages.last {} else if endsInEdits { stages.append(.edits(EditStage([], surroundings, &table))) }
        self.stages = stages
    }

    /// Behind a route, in the order in which it happens.
    static func steps(_ route: [Transform], _ filter: Filter, _ destination: [Transform]) -> [Step] {
        route.map(Step.init) + (filter.expression == .bool(true) ? [] : [.requirement(filter)])
            + destination.map(Step.init)
    }
}
