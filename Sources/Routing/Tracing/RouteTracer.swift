import Events

/// Does what a `DestinationRouter` does, one step at a time, and notes what happened at each. It uses
/// the same stages, but writes the event out after every step; what the destination gets is still the
/// router's to say. Slow; one thread.
package final class RouteTracer {
    private struct Step {
        var kind: RouteTrace.Step.Kind
        var origin: RouteTrace.Step.Origin
        var condition: FilterTracer?
        var stages: [RouteChain.Stage]
    }

    private struct Route {
        var name: String
        var filter: FilterTracer
        var steps: [Step]
    }

    private let pipeline: [Step]
    private let routes: [Route]
    private let integrations: Integrations
    private let integrationsPath: Int
    private let fields: EventFields
    private var runner: StageRunner

    /// - Parameters: as the router's.
    package init(
        name: String, displayName: String? = nil, pipeline: [Transform] = [], routes: [DestinationRouter.Route],
        filter: Filter = .always, transforms: [Transform] = [], host: String = ""
    ) {
        var table = PathTable()
        self.pipeline = pipeline.map { Self.step($0, .pipeline, host, &table) }
        self.routes = routes.map { route in
            var steps = route.transforms.map { Self.step($0, .route, host, &table) }
            if filter.expression != .bool(true) {
                steps.append(
                    Step(
                        kind: .filter, origin: .destination, condition: FilterTracer(filter.expression, &table),
                        stages: Self.stages(.requirement(filter), host, &table)))
            }
            steps += transforms.map { Self.step($0, .destination, host, &table) }
            return Route(name: route.name, filter: FilterTracer(route.filter.expression, &table), steps: steps)
        }
        integrations = Integrations(name: name, displayName: displayName, &table)
        integrationsPath = table.index(of: FieldPath(["integrations"]))
        let indexer = EventIndexer(&table)
        fields = EventFields(table)
        runner = StageRunner(fields, indexer)
    }

    private static func step(
        _ transform: Transform, _ origin: RouteTrace.Step.Origin, _ host: String, _ table: inout PathTable
    ) -> Step {
        let condition = transform.condition.expression
        return Step(
            kind: .transform(name: transform.name), origin: origin,
            condition: condition == .bool(true) ? nil : FilterTracer(condition, &table),
            stages: stages(RouteChain.Step(transform), host, &table))
    }

    private static func stages(_ step: RouteChain.Step, _ host: String, _ table: inout PathTable) -> [RouteChain.Stage] {
        RouteChain([step], endsInEdits: false, host: host, &table).stages
    }

    /// - Parameter event: one that a door has accepted.
    package func trace(_ event: EventRecord, of batch: borrowing EventBatch) -> RouteTrace {
        var trace = RouteTrace()
        fields.startEvent()
        guard event.length >= 2 else { return trace }
        let view = EventView(
            json: batch.json(of: event), index: event.index, fields: fields,
            moment: EventMoment(position: event.position, receivedAt: event.receivedAt))
        var json: [UInt8] = []
        json.append(contentsOf: view.json)
        let events = walk(pipeline, [json], view, &trace.pipeline)
        for event in events {
            fields.startEvent()
            // Untouched, it is read with the index that the door made.
            let way = event == json ? decide(view, event) : decide(runner.view(event.span, view), event)
            trace.ways.append(way)
        }
        return trace
    }

    private func decide(_ view: borrowing EventView, _ event: [UInt8]) -> RouteTrace.Way {
        var way = RouteTrace.Way(event: event)
        var taken: Route?
        for route in routes where taken == nil {
            let filter = route.filter.trace(view)
            way.routes.append(.init(name: route.name, filter: filter))
            if filter.holds { taken = route }
        }
        guard let taken else { return way }
        if view.index.flags.contains(.hasIntegrations), !integrations.allow(view),
            let range = view.value(integrationsPath).json
        {
            var json: [UInt8] = []
            json.append(contentsOf: view.json.extracting(range))
            way.forbiddingIntegrations = json
            return way
        }
        way.events = walk(taken.steps, [event], view, &way.steps)
        return way
    }

    /// Takes events through steps.
    /// - Returns: what is left of them; nothing once one is rejected.
    private func walk(
        _ steps: [Step], _ events: [[UInt8]], _ original: borrowing EventView, _ trace: inout [RouteTrace.Step]
    ) -> [[UInt8]] {
        var events = events
        for step in steps {
            var next: [[UInt8]] = []
            for event in events {
                fields.startEvent()
                let isOriginal = original.json.hasBytes(of: event.span)
                let made = isOriginal ? perform(step, event, original) : perform(step, event, runner.view(event.span, original))
                trace.append(made)
                switch made.outcome {
                case .passed(let events): next += events
                case .dropped: break
                case .rejected: return []
                }
            }
            events = next
        }
        return events
    }

    private func perform(_ step: Step, _ event: [UInt8], _ view: borrowing EventView) -> RouteTrace.Step {
        let condition = step.condition?.trace(view)
        let outcome: RouteTrace.Step.Outcome
        switch runner.run(step.stages[...], view) {
        case .done:
            outcome = .passed((0..<runner.texts.count).map { Array(runner.texts.bytes[runner.texts.range(of: $0)]) })
        case .dropped: outcome = .dropped
        case .rejected(let reason): outcome = .rejected(reason: reason)
        }
        return RouteTrace.Step(kind: step.kind, origin: step.origin, condition: condition, before: event, outcome: outcome)
    }
}
