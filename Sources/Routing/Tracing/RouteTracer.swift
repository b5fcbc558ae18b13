import Events

/// Explains what a destination's configuration does with an event. The result is that of a `DestinationRouter` with the
/// same configuration, one step at a time. Slow. One thread.
package final class RouteTracer {
    private let routes: [DestinationRouter.Route]
    private let filter: Filter
    private let pipeline: Steps
    private let chains: [Steps]
    private let filters: FilterProgram
    private let routeIndex: RouteIndex
    private let integrations: Integrations
    private let fields: EventFields
    private let indexer: EventIndexer
    private var originText: OriginText
    /// The sender of the event that is traced.
    private var sender = TracedSender()

    private struct Steps {
        var steps: [(step: RouteChain.Step, owner: StepTrace.Owner, stage: RouteChain.Stage)]
        var stages: [RouteChain.Stage]

        init(
            _ steps: [RouteChain.Step], _ surroundings: StageSurroundings, _ table: inout PathTable,
            owner: (Int) -> StepTrace.Owner
        ) {
            let stages = RouteChain(steps, endsInEdits: false, separate: true, surroundings, &table).stages
            self.stages = stages
            self.steps = zip(steps, stages).enumerated().map { ($1.0, owner($0), $1.1) }
        }
    }

    /// - Parameters: as for `DestinationRouter`.
    package init(
        name: String, displayName: String? = nil, pipeline: [Transform] = [], routes: [DestinationRouter.Route],
        filter: Filter = .always, transforms: [Transform] = [], host: String = "", maximumEventSize: Int = .max,
        userNames: @escaping UserNames = { _ in nil }
    ) {
        originText = OriginText(
            isReplay: pipeline.contains(where: \.isReplayMark), host: host, userName: userNames)
        var table = PathTable()
        let surroundings = StageSurroundings(host: host, limit: maximumEventSize)
        self.routes = routes
        self.filter = filter
        filters = FilterCompiler.compile(all: routes.map(\.filter.expression), &table)
        routeIndex = RouteIndex(routes.map(\.filter.expression))
        chains = routes.map { route in
            Steps(RouteChain.steps(route.transforms, filter, transforms), surroundings, &table) {
                $0 < route.transforms.count ? .route : .destination
            }
        }
        self.pipeline = Steps(pipeline.map(RouteChain.Step.init), surroundings, &table) { _ in .pipeline }
        integrations = Integrations(name: name, displayName: displayName, &table)
        indexer = EventIndexer(&table)
        fields = EventFields(table)
    }

    package func trace(_ event: EventRecord, of batch: borrowing EventBatch) -> RouteTrace {
        var trace = RouteTrace()
        let moment = EventMoment(event)
        setSender(of: event, batch)
        let (texts, verdict) = run(
            pipeline, [UInt8](copying: batch.json(of: event)), event.index.kind, moment, &trace.pipeline)
        guard !texts.isEmpty else {
            trace.pipelineVerdict = verdict
            return trace
        }
        trace.events = texts.map { explain($0, event.index.kind, moment) }
        return trace
    }

    /// Processes an event that comes before the traced ones. Transforms then remember what they would remember in a
    /// router that processed the event.
    package func recall(_ event: EventRecord, of batch: borrowing EventBatch) {
        guard event.length >= 2 else { return }
        setSender(of: event, batch)
        let recalled = TracedEvent(
            [UInt8](copying: batch.json(of: event)), event.index, from: sender,
            at: EventMoment(event))
        let fields = fields
        let view = recalled.view(fields)
        var before = StageRunner(indexer)
        var behind = StageRunner(indexer)
        guard before.run(pipeline.stages[...], view) == .done else { return }
        for k in 0..<before.texts.count {
            fields.startEvent()
            let memory = before.texts.bytes.span.extracting(before.texts.memory(of: k))
            let view = before.view(memory, length: before.texts.range(of: k).count, of: view)
            guard let taken = routeIndex.first(view, filters), !fields.isUnreadable,
                !view.index.flags.contains(.hasIntegrations) || integrations.allow(view)
            else { continue }
            _ = behind.run(chains[taken].stages[...], view)
        }
    }

    private func setSender(of event: EventRecord, _ batch: borrowing EventBatch) {
        sender = TracedSender()
        sender.values = originText.append(batch.origin(of: event), to: &sender.text)
    }

    private func explain(_ json: [UInt8], _ kind: EventKind, _ moment: EventMoment) -> EventTrace {
        var trace = EventTrace(event: String(decoding: json, as: UTF8.self))
        let event = TracedEvent(json, index(json, kind), from: sender, at: moment)
        var taken: Int?
        for (number, route) in routes.enumerated() where taken == nil {
            let answer = FilterTracer.trace(route.filter.expression, event)
            trace.routes.append(RouteAnswer(name: route.name, filter: answer))
            if answer.isTrue { taken = number }
        }
        guard let taken else { return trace }
        let fields = fields
        let view = event.view(fields)
        if view.index.flags.contains(.hasIntegrations) { trace.forbiddenBy = integrations.keyForbidding(view) }
        guard !trace.isForbidden else { return trace }
        let (texts, _) = run(chains[taken], json, kind, moment, &trace.steps)
        trace.results = texts.map { String(decoding: $0, as: UTF8.self) }
        return trace
    }

    private func index(_ json: [UInt8], _ kind: EventKind) -> EventIndex {
        fields.startEvent()
        return indexer.index(of: json.span, fields, kind: kind)
    }

    /// Runs an event through all steps.
    /// - Returns: the events that are left, or the reason why none is.
    private func run(
        _ chain: Steps, _ json: [UInt8], _ kind: EventKind, _ moment: EventMoment, _ traces: inout [StepTrace]
    ) -> (texts: [[UInt8]], verdict: DestinationRouter.Verdict?) {
        var texts = [json]
        var verdict: DestinationRouter.Verdict?
        for (step, owner, stage) in chain.steps {
            var next: [[UInt8]] = []
            for text in texts {
                let (trace, made) = apply(step, of: owner, stage, text, kind, moment)
                traces.append(trace)
                next += made
                switch trace.outcome {
                case .dropped: verdict = verdict ?? .filtered(reason: trace.name)
                // One rejected event rejects the others that came from the same event.
                case .rejected(let reason): return ([], .rejected(reason: reason))
                case .passedOver, .made: break
                }
            }
            texts = next
        }
        return (texts, texts.isEmpty ? verdict : nil)
    }

    private func apply(
        _ step: RouteChain.Step, of owner: StepTrace.Owner, _ stage: RouteChain.Stage, _ text: [UInt8],
        _ kind: EventKind, _ moment: EventMoment
    ) -> (StepTrace, made: [[UInt8]]) {
        let before = String(decoding: text, as: UTF8.self)
        let event = TracedEvent(text, index(text, kind), from: sender, at: moment)
        let condition = FilterTracer.trace(step.condition.expression, event)
        var trace = StepTrace(
            name: step.name, owner: owner, before: before, outcome: .passedOver,
            filter: step.condition == .always ? nil : condition, looksBack: step.looksBack)
        if case .requirement = step {} else if !condition.isTrue { return (trace, [text]) }
        var runner = StageRunner(indexer)
        let fields = fields
        switch runner.run([stage], event.view(fields)) {
        case .done:
            let made = (0..<runner.texts.count).map { Array(runner.texts.bytes[runner.texts.range(of: $0)]) }
            trace.outcome = .made(made.map { String(decoding: $0, as: UTF8.self) })
            return (trace, made)
        case .dropped: trace.outcome = .dropped
        case .rejected(let reason): trace.outcome = .rejected(reason: reason)
        }
        return (trace, [])
    }
}

extension RouteChain.Step {
    fileprivate var name: String {
        switch self {
        case .requirement: "where"
        case .edit(let transform, _), .rewrite(let transform, _): transform.name
        }
    }

    fileprivate var looksBack: Bool {
        if case .edit(_, let definition) = self { definition.lookback != nil } else { false }
    }

    fileprivate var condition: Filter {
        switch self {
        case .requirement(let filter): filter
        case .edit(let transform, _), .rewrite(let transform, _): transform.condition
        }
    }
}
