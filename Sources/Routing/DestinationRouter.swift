import Events

/// Applies one destination's configuration to events: finds the first route that matches an event, and writes what the
/// destination gets. One thread.
package final class DestinationRouter {
    /// A route that names the destination.
    package struct Route: Sendable {
        /// The name in the configuration, for explanations.
        package var name: String
        package var filter: Filter
        package var transforms: [Transform]

        package init(name: String = "", filter: Filter, transforms: [Transform]) {
            self.name = name
            self.filter = filter
            self.transforms = transforms
        }
    }

    package enum Verdict: Sendable, Equatable {
        /// The event was appended to the output. The range holds the contents of its message id in the output, with
        /// their escapes. The range is empty if the output has no message id, or one that is not a string.
        ///
        /// - Parameter isCopy: the output has the event's own bytes, so the slices of its index hold in it.
        case routed(messageID: Range<Int>, isCopy: Bool)
        /// Transforms split the event. The parts were appended with line feeds between them.
        case split([Part])
        /// The event is not for this destination. The reason is `no_route`, `integrations`, `where` (the destination's
        /// own filter), the name of the transform that dropped the event, or `mapping`, which produced nothing.
        case filtered(reason: String)
        /// The event is for this destination, but a transform or the mapping cannot process it.
        case rejected(reason: String)
    }

    /// One part of a split event: the ranges, in the output, of its JSON and of the contents of its message id.
    package struct Part: Sendable, Equatable {
        package var json: Range<Int>
        package var messageID: Range<Int>
    }

    /// How far back an earlier event can affect an answer. After a start, the answers are exact once the router has
    /// processed all events within this distance. Nil: earlier events have no effect.
    package let lookback: Lookback?
    /// Routing one event may take milliseconds, because a script is called for it.
    package let mayTakeLong: Bool
    /// The events that a route can match by their type and name. Nil: all.
    package let selection: (any EventSelection)?

    private let filters: FilterProgram
    private let index: RouteIndex
    private let chains: [RouteChain]
    /// Each event is written at most once, and no mapping is applied.
    private let writesAtOnce: Bool
    /// The edits behind each route, if `writesAtOnce`; else empty.
    private let stages: FinalStages
    /// By route: nothing is edited, so an event that has a message id is copied as it is.
    private let copies: [Bool]
    private let integrations: Integrations
    private let fields: EventFields
    private let outputs: OutputProgram?
    private let journal: [UInt8]
    private let pipeline: [RouteChain.Stage]
    /// For the pipeline, and for the stages behind a route. Nil: no stage needs one.
    private var pipelineRunner: StageRunner?
    private var runner: StageRunner?
    /// For filters, transforms and mappings that read `context.penstock`: the event, followed by this object.
    private var originText: OriginText
    private var memory: [UInt8] = []

    /// - Parameters:
    ///   - name: the destination's name in the configuration.
    ///   - displayName: the display name of its preset, which `integrations` may use as well.
    ///   - pipeline: applied to every event before a route is chosen.
    ///   - routes: the routes to the destination, in order.
    ///   - filter: the destination's own `where`, evaluated after the route's transforms.
    ///   - transforms: the destination's own transforms, applied after `filter`.
    ///   - mapping: produces what the destination gets instead of the event. Nil: the destination gets the event.
    ///   - outputs: several outputs instead of a mapping. The first one that matches the event is used, and every
    ///     additional one that matches.
    ///   - host: the name of this machine, for `enrich` and `context.penstock.host`.
    ///   - maximumEventSize: the number of bytes that transforms may add to an event.
    ///   - journal: the 16-byte id of the journal that the events come from. Message ids are derived from it.
    ///   - userNames: for `context.penstock.peer.user`.
    ///   - interruption: stops a running script. The verdicts after an interruption are not reliable.
    package init(
        name: String, displayName: String? = nil, pipeline: [Transform] = [], routes: [Route],
        filter: Filter = .always, transforms: [Transform] = [], mapping: MappingSetting? = nil,
        outputs: [OutputSetting] = [], host: String = "",
        maximumEventSize: Int = .max, journal: [UInt8], userNames: @escaping UserNames = { _ in nil },
        interruption: Interruption? = nil
    ) {
        let outputs = outputs.isEmpty ? mapping.map { [OutputSetting($0)] } ?? [] : outputs
        let all = pipeline + routes.flatMap(\.transforms) + transforms
        lookback = all.compactMap { ($0.definition as? any EditingTransform)?.lookback }.max()
            .map { Lookback(positions: VerdictHistory.limit, time: $0.nanoseconds) }
        mayTakeLong = all.contains { ($0.definition as? any RewritingTransform)?.mayTakeLong ?? false }
        let surroundings = StageSurroundings(host: host, limit: maximumEventSize, interruption: interruption)
        var table = PathTable()
        filters = FilterCompiler.compile(all: routes.map(\.filter.expression), &table)
        index = RouteIndex(routes.map(\.filter.expression))
        chains = routes.map {
            RouteChain(
                RouteChain.steps($0.transforms, filter, transforms), endsInEdits: outputs.isEmpty, surroundings, &table)
        }
        self.pipeline =
            RouteChain(pipeline.map(RouteChain.Step.init), endsInEdits: false, surroundings, &table)
            .stages
        integrations = Integrations(name: name, displayName: displayName, &table)
        self.outputs = outputs.isEmpty ? nil : OutputProgram(outputs, journal: journal, &table)
        let isChained = chains.contains { $0.stages.count > (outputs.isEmpty ? 1 : 0) }
        let isStaged = isChained || !pipeline.isEmpty
        let indexer = isStaged ? EventIndexer(&table) : nil
        writesAtOnce = !isStaged && outputs.isEmpty
        stages = FinalStages(writesAtOnce ? chains.compactMap(\.last) : [])
        copies = routes.map { RouteChain.steps($0.transforms, filter, transforms).isEmpty }
        fields = EventFields(table)
        // A pipeline may give an event another name, or drop it for a reason of its own. And the text of a sender is
        // renewed after some events, whether they are routed or not.
        let mayLeaveOut = pipeline.isEmpty && !fields.readsOrigin
        selection = mayLeaveOut ? RouteSelection(index, reason: Self.noRoute) : nil
        self.journal = journal
        originText = OriginText(
            isReplay: pipeline.contains(where: \.isReplayMark), host: host, userName: userNames)
        if let indexer, !pipeline.isEmpty { pipelineRunner = StageRunner(indexer) }
        if let indexer, isChained { runner = StageRunner(indexer) }
    }

    /// The reason for which an event is filtered that no route matches.
    fileprivate static let noRoute = "no_route"
    /// What is shorter is no JSON object.
    static let leastBytes = 2

    /// Whether each event's output starts with an envelope. A byte 0 separates the two.
    package var writesEnvelopes: Bool { outputs?.writesEnvelopes ?? false }

    /// Decides about one event. If the verdict is `.routed` or `.split`, appends what the destination gets to `output`:
    /// JSON without a line feed at the end. Otherwise appends nothing.
    package func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout [UInt8]) -> Verdict {
        // Held for the view's sake.
        let fields = fields
        fields.startEvent()
        guard event.length >= Self.leastBytes else { return .rejected(reason: StageRunner.unreadable) }
        if fields.readsOrigin { return routeWithOrigin(event, of: batch, into: &output) }
        return route(
            EventView(
                json: batch.json(of: event), index: event.index, fields: fields,
                moment: EventMoment(event)), into: &output)
    }

    /// Routes an event whose sender is read. Its bytes are copied, so that those of `context.penstock` can follow.
    private func routeWithOrigin(
        _ event: EventRecord, of batch: borrowing EventBatch, into output: inout [UInt8]
    ) -> Verdict {
        let fields = fields
        // Moved out of the object: Swift gives no view of an array that a class holds.
        var memory: [UInt8] = []
        swap(&memory, &self.memory)
        defer {
            // Memory that one huge event has grown is freed.
            if memory.capacity <= Self.largestMemory { swap(&memory, &self.memory) }
        }
        memory.removeAll(keepingCapacity: true)
        memory.append(contentsOf: batch.json(of: event))
        fields.origin = originText.append(batch.origin(of: event), to: &memory)
        return route(
            EventView(
                memory: memory.span, length: Int(event.length), index: event.index, fields: fields,
                moment: EventMoment(event)), into: &output)
    }

    private static let largestMemory = 256 << 10

    @inline(__always)
    private func route(_ view: borrowing EventView, into output: inout [UInt8]) -> Verdict {
        if writesAtOnce { return routeAtOnce(view, into: &output) }
        var parts = Parts(output)
        if pipeline.isEmpty {
            decide(view, into: &output, &parts)
        } else {
            var runner = pipelineRunner.take()
            defer { pipelineRunner = runner.take() }
            switch runner?.run(pipeline[...], view) {
            case .done?, nil: break
            case .dropped(let name)?: return .filtered(reason: name)
            case .rejected(let reason)?: return .rejected(reason: reason)
            }
            guard let runner else { return .rejected(reason: StageRunner.unreadable) }
            for k in 0..<runner.texts.count {
                fields.startEvent()
                let memory = runner.texts.bytes.span.extracting(runner.texts.memory(of: k))
                let length = runner.texts.range(of: k).count
                decide(runner.view(memory, length: length, of: view), into: &output, &parts)
            }
        }
        return parts.verdict(&output)
    }

    /// The common case: one event stays one event and is written once.
    @inline(__always)
    private func routeAtOnce(_ view: borrowing EventView, into output: inout [UInt8]) -> Verdict {
        let route = index.first(view, filters)
        if fields.isUnreadable { return .rejected(reason: StageRunner.unreadable) }
        guard let route else { return .filtered(reason: Self.noRoute) }
        if view.index.flags.contains(.hasIntegrations), !integrations.allow(view) {
            return .filtered(reason: "integrations")
        }
        let start = output.count
        if copies[route], view.index.messageID.isPresent {
            output.append(contentsOf: view.json)
            let place = view.index.messageID.range
            return .routed(messageID: start + place.lowerBound..<start + place.upperBound, isCopy: true)
        }
        let position = view.moment.position
        let outcome = stages.apply(
            route, view, messageID: MessageID.derived(journal: journal, position: position), into: &output)
        if fields.isUnreadable {
            output.removeLast(output.count - start)
            return .rejected(reason: StageRunner.unreadable)
        }
        switch outcome {
        case .written(let messageID): return .routed(messageID: messageID, isCopy: false)
        case .dropped(let name): return .filtered(reason: name)
        case .rejected(let reason): return .rejected(reason: reason)
        }
    }

    /// Finds the first route that matches, and applies the stages behind it.
    private func decide(_ view: borrowing EventView, into output: inout [UInt8], _ parts: inout Parts) {
        let taken = index.first(view, filters)
        if fields.isUnreadable { return parts.reject(StageRunner.unreadable) }
        guard let taken else { return parts.filter(Self.noRoute) }
        if view.index.flags.contains(.hasIntegrations), !integrations.allow(view) {
            return parts.filter("integrations")
        }
        let chain = chains[taken]
        var stages = chain.stages[...]
        let end: End
        if let outputs {
            end = .output(outputs)
        } else if let last = chain.last {
            end = .edits(last)
            stages = chain.stages.dropLast()
        } else {
            preconditionFailure("without a mapping, the stages behind a route end in edits")
        }
        guard !stages.isEmpty, var runner = runner.take() else { return write(view, end, into: &output, &parts) }
        defer { self.runner = runner }
        switch runner.run(stages, view) {
        case .done: break
        case .dropped(let name): return parts.filter(name)
        case .rejected(let reason): return parts.reject(reason)
        }
        for k in 0..<runner.texts.count {
            fields.startEvent()
            let memory = runner.texts.bytes.span.extracting(runner.texts.memory(of: k))
            let length = runner.texts.range(of: k).count
            write(runner.view(memory, length: length, of: view), end, into: &output, &parts)
        }
    }

    /// The last step, which writes the destination's bytes: the last edits, or the mappings after all edits.
    private enum End {
        case edits(EditStage)
        case output(OutputProgram)
    }

    private func write(_ view: borrowing EventView, _ end: End, into output: inout [UInt8], _ parts: inout Parts) {
        // The second and later parts of a split event get their own ids.
        switch end {
        case .edits(let stage):
            parts.begin(&output)
            let start = output.count
            let outcome = stage.apply(
                view,
                messageID: MessageID.derived(journal: journal, position: view.moment.position) + parts.suffix,
                into: &output)
            switch outcome {
            case .written(let messageID): parts.finish(start..<output.count, messageID)
            case .dropped(let name): parts.filter(name)
            case .rejected(let reason): parts.reject(reason)
            }
        case .output(let program):
            var turn = OutputProgram.Turn()
            var isTaken = false
            while let number = program.next(view, &turn) {
                isTaken = true
                parts.begin(&output)
                let start = output.count
                switch program.write(number, view, suffix: parts.suffix, into: &output) {
                case .written(let messageID): parts.finish(start..<output.count, messageID)
                case .nothing: parts.filter("mapping")
                case .tooLarge: parts.reject("mapping: the result exceeds \(program.limit) bytes (max_event_size)")
                case .tooLong: parts.reject("mapping: this event takes more than \(MappingRun.maximumSteps) steps")
                }
            }
            if !isTaken { parts.filter("mapping") }
        }
        if fields.isUnreadable { parts.reject(StageRunner.unreadable) }
    }
}

/// Collects the results for one event. Allocates nothing in the common case, where one event stays one event.
private struct Parts {
    private let start: Int
    private var first: DestinationRouter.Part?
    private var others: [DestinationRouter.Part] = []
    private var filtered: String?
    private var rejected: String?

    init(_ output: [UInt8]) { start = output.count }

    var suffix: String { first == nil ? "" : ":\(others.count + 1)" }

    /// Call before each part is appended. Separates the parts with line feeds.
    mutating func begin(_ output: inout [UInt8]) {
        guard let first else { return }
        let end = others.last?.json.upperBound ?? first.json.upperBound
        if output.count == end { output.append(UInt8(ascii: "\n")) }
    }

    mutating func finish(_ json: Range<Int>, _ messageID: Range<Int>) {
        let part = DestinationRouter.Part(json: json, messageID: messageID)
        if first == nil { first = part } else { others.append(part) }
    }

    mutating func filter(_ reason: String) { filtered = filtered ?? reason }
    mutating func reject(_ reason: String) { rejected = rejected ?? reason }

    /// One rejected part rejects the whole event.
    func verdict(_ output: inout [UInt8]) -> DestinationRouter.Verdict {
        let end = rejected == nil ? (others.last ?? first)?.json.upperBound ?? start : start
        if output.count > end { output.removeLast(output.count - end) }
        if let rejected { return .rejected(reason: rejected) }
        guard let first else { return .filtered(reason: filtered ?? DestinationRouter.noRoute) }
        return others.isEmpty ? .routed(messageID: first.messageID, isCopy: false) : .split([first] + others)
    }
}
