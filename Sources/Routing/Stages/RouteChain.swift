import Events

/// The steps after a route matches: the route's transforms, the destination's filter and the destination's transforms,
/// in this order.
///
/// Steps share a stage as long as no step reads or writes a field that an earlier one wrote. All steps of a stage read
/// the original event, in one pass, and all their edits are written together. There is one exception: a step may
/// rewrite a field (`Overlay.rewrite`) after the field, or something inside it, was edited. Any other conflict starts a
/// new stage: the event is written and read again. A rewriting transform is a separate stage.
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
            let paths: [FieldPath] =
                switch self {
                case .requirement(let filter): filter.expression.paths
                case .edit(let transform, let definition): transform.condition.expression.paths + definition.reads
                case .rewrite: []
                }
            return paths.flatMap(\.readPaths)
        }

        var writes: [FieldPath] {
            if case .edit(_, let definition) = self { definition.writes.flatMap(Self.places) } else { [] }
        }

        /// The fields that an edit at this path may change.
        private static func places(_ path: FieldPath) -> [FieldPath] {
            [path] + (TraitsPaths.twin(of: path).map { [$0] } ?? [])
        }

        /// Whether it edits fields in `traits` and the same fields in `context.traits`. Each path then means the field
        /// at that path.
        var namesBothTraits: Bool {
            guard case .edit(_, let definition) = self else { return false }
            let twins = definition.writes.compactMap(TraitsPaths.twin)
            return twins.contains { twin in definition.writes.contains { $0.overlaps(twin) } }
        }

        /// Whether the step would see the old value of a field that an earlier step wrote.
        func misses(_ path: FieldPath) -> Bool {
            if reads.contains(where: { $0.overlaps(path) }) { return true }
            guard case .edit(_, let definition) = self else { return false }
            let rewrites = definition.rewrites.flatMap(Self.places)
            return writes.contains { $0.overlaps(path) && !(rewrites.contains($0) && path.isWithin($0)) }
        }
    }

    let stages: [Stage]
    /// The last stage, if it edits. It can add a message id to an event.
    var last: EditStage? { if case .edits(let stage)? = stages.last { stage } else { nil } }

    /// - Parameters:
    ///   - endsInEdits: adds an empty editing stage if the last stage is not an editing one.
    ///   - separate: gives each step its own stage, so that the event can be seen between steps.
    init(
        _ steps: [Step], endsInEdits: Bool, separate: Bool = false, _ surroundings: StageSurroundings,
        _ table: inout PathTable
    ) {
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
            if separate || step.namesBothTraits || written.contains(where: step.misses) { endGroup() }
            group.append(step)
            if step.namesBothTraits {
                stages.append(.edits(EditStage(group, surroundings, findsTraits: false, &table)))
                group = []
                continue
            }
            written += step.writes
            // When an item of a list is removed, the items after it get other numbers.
            written += step.writes.filter(\.endsInNumber).map { FieldPath($0.segments.dropLast()) }
        }
        endGroup()
        if case .edits? = stages.last {
        } else if endsInEdits {
            stages.append(.edits(EditStage([], surroundings, &table)))
        }
        self.stages = stages
    }

    /// The steps behind a route, in the order in which they run.
    static func steps(_ route: [Transform], _ filter: Filter, _ destination: [Transform]) -> [Step] {
        route.map(Step.init) + (filter.expression == .bool(true) ? [] : [.requirement(filter)])
            + destination.map(Step.init)
    }
}
