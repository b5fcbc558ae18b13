import Events

/// What happens to an event behind the route that takes it: the route's transforms, the
/// destination's filter, the destination's transforms, in this order.
///
/// All of it reads the event as it came, in one pass, and all edits are written at once, as long
/// as nothing reads or writes what something before it has written. Where that happens, a new
/// stage begins: the event is written out and read again.
struct RouteChain {
    let stages: [RouteStage]

    init(_ route: [Transform], _ filter: Filter, _ destination: [Transform], _ table: inout PathTable) {
        var steps: [Step] = route.map(Step.transform)
        if filter.expression != .bool(true) { steps.append(.requirement(filter)) }
        steps += destination.map(Step.transform)

        var groups: [[Step]] = [[]]
        var written: [FieldPath] = []
        for step in steps {
            let touched = step.reads + step.writes
            if written.contains(where: { path in touched.contains { $0.overlaps(path) } }) {
                groups.append([])
                written = []
            }
            groups[groups.count - 1].append(step)
            written += step.writes
        }
        stages = groups.map { RouteStage($0, &table) }
        if stages.count > 1 { for field in IndexedField.allCases { _ = table.index(of: field.path) } }
    }

    enum Step {
        case requirement(Filter)
        case transform(Transform)

        var reads: [FieldPath] {
            switch self {
            case .requirement(let filter): filter.expression.paths
            case .transform(let transform): transform.reads
            }
        }

        var writes: [FieldPath] {
            switch self {
            case .requirement: []
            case .transform(let transform): transform.writes
            }
        }
    }
}
