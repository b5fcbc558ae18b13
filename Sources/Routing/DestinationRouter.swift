// The room Routing: filters, transforms and routes, as functions of an event and nothing else.
//
// - A text that is not understood is refused when the configuration is read; an event never meets
//   a filter that could not be compiled.
// - Events stay bytes. What decides reads the paths it needs in one pass, and mostly none; what
//   changes an event is an overlay of edits, written out from slices of the input.
// - The same event and configuration give the same output, on every retry and replay.
// - Deciding about an event takes a time bounded by its size and the configuration's, and the
//   common ways allocate nothing.
//
// How a transform comes to be (`Transforms/`): it is one struct in one file, which
// - declares itself: `static let declaration`, made with `TransformDeclaration.keys` or `.value` from
//   `Setting`s, each a name, a key path, a `SettingType` (path, filter, template, secret, script,
//   duration, choice, lists and maps of them …) and a sentence. Whoever reads configurations
//   interprets that: it hands in `SettingValue`s that fit the declared `SettingShape`s, and gets a
//   `Transform` or the `TransformErrors` of `check()`, each at the keys that lead to the fault;
// - is an `EditingTransform`, which says what it reads and writes and puts edits into the event's
//   `Overlay` (set, remove, rename), or a `RewritingTransform`, which appends none, one or several
//   events. Either may drop the event, counted under its name, or reject it to the dead letters;
// - stands in `TransformCatalogue.all`. Nothing else knows it.
//
// It never does input or output, knows no clock, no destination and no journal, and keeps nothing
// of an event after it has answered.
import Events

/// All that one destination's configuration says about an event: the first of its routes that
/// takes it, and what the destination gets. One thread.
package final class DestinationRouter {
    /// A route that names the destination.
    package struct Route: Sendable {
        /// As in the configuration, for explanations.
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
        /// Appended to the output. The contents of its message id lie at this place in the output,
        /// escapes and all; empty if it is not there, or no string any more.
        case routed(messageID: Range<Int>)
        /// Transforms made several events of it: appended with line feeds between them.
        case split([Part])
        /// Not for this destination: `no_route`, `integrations`, `where` (the destination's own), the
        /// name of the transform that dropped it, or `mapping`, which came to nothing.
        case filtered(reason: String)
        /// For this destination, but a transform or the mapping cannot do its work on it.
        case rejected(reason: String)
    }

    /// One of several events: where it and the contents of its message id lie in the output.
    package struct Part: Sendable, Equatable {
        package var json: Range<Int>
        package var messageID: Range<Int>
    }

    /// How far back events lie that it has to have been given before its answers are what they would be if it had been
    /// given them all; nil: it keeps nothing of an event.
    package let lookback: Lookback?
    /// One event may take milliseconds: a script is called for it.
    package let mayTakeLong: Bool

    private let filters: FilterProgram
    private let index: RouteIndex
    private let chains: [RouteChain]
    /// No event is written more than once on its way, and none is mapped.
    private let writesAtOnce: Bool
    /// If so: what is behind each route.
    private let stages: [EditStage]
    /// By route: nothing is edited, so an event that has its message id is copied as it is.
    private let copies: [Bool]
    private let integrations: Integrations
    private let fields: EventFields
    private let outputs: OutputProgram?
    private let journal: [UInt8]
    private let pipeline: [RouteChain.Stage]
    /// For the pipeline, and for what is behind the route; nil: nothing there needs one.
    private var pipelineRunner: StageRunner?
    private var runner: StageRunner?

    /// - Parameters:
    ///   - name: the destination's, as in the configuration.
    ///   - displayName: its preset's, which `integrations` may use as well.
    ///   - pipeline: applied to every event before its route is looked for.
    ///   - routes: those that lead to it, in order.
    ///   - filter: its own `where`, asked after the route's transforms.
    ///   - transforms: its own, applied after that.
    ///   - mapping: what it gets in place of the event; nil: the event.
    ///   - outputs: instead of a mapping, several, of which the first that takes the event counts.
    ///   - host: the name of this machine, for `enrich`.
    ///   - maximumEventSize: bytes that transforms may add to an event.
    ///   - journal: the 16 bytes that identify the journal the events come from; message ids derive from
    ///     them.
    ///   - interruption: ends a script that runs. The verdicts that follow are not to be relied on.
    package init(
        name: String, displayName: String? = nil, pipeline: [Transform] = [], routes: [Route],
        filter: Filter = .always, transforms: [Transform] = [], mapping: MappingSetting? = nil, outputs: [OutputSetting] = [], host: String = "",
        maximumEventSize: Int = .max, journal: [UInt8], interruption: Interruption? = nil
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
        self.pipeline = RouteChain(pipeline.map(RouteChain.Step.init), endsInEdits: false, surroundings, &table)
            .stages
        integrations = Integrations(name: name, displayName: displayName, &table)
        self.outputs = outputs.isEmpty ? nil : OutputProgram(outputs, journal: journal, &table)
        let isChained = chains.contains { $0.stages.count > (outputs.isEmpty ? 1 : 0) }
        let isStaged = isChained || !pipeline.isEmpty
        let indexer = isStaged ? EventIndexer(&table) : nil
        writesAtOnce = !isStaged && outputs.isEmpty
        stages = writesAtOnce ? chains.compactMap(\.last) : []
        copies = routes.map { RouteChain.steps($0.transforms, filter, transforms).isEmpty }
        fields = EventFields(table)
        self.journal = journal
        if let indexer, !pipeline.isEmpty { pipelineRunner = StageRunner(fields, indexer) }
        if let indexer, isChained { runner = StageRunner(fields, indexer) }
    }

    /// Whether each event's output has an envelope in front of it, and a byte 0 between the two.
    package var writesEnvelopes: Bool { outputs?.writesEnvelopes ?? false }

    /// Decides about one event, and appends what the destination is to get to `output`: JSON, no
    /// line feed at the end. Nothing is appended unless the verdict is `.routed` or `.split`.
    package func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout [UInt8]) -> Verdict {
        fields.startEvent()
        guard event.length >= 2 else { return .rejected(reason: StageRunner.unreadable) }
        let view = EventView(
            json: batch.json(of: event), index: event.index, fields: fields,
            moment: EventMoment(position: event.position, receivedAt: event.receivedAt))
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
                let json = runner.texts.bytes.span.extracting(runner.texts.range(of: k))
                decide(runner.view(json, view), into: &output, &parts)
            }
        }
        return parts.verdict(&output)
    }

    /// The common case: one event stays one, and is written once.
    @inline(__always)
    private func routeAtOnce(_ view: borrowing EventView, into output: inout [UInt8]) -> Verdict {
        let route = index.first(view, filters)
        if fields.isUnreadable { return .rejected(reason: StageRunner.unreadable) }
        guard let route else { return .filtered(reason: "no_route") }
        if view.index.flags.contains(.hasIntegrations), !integrations.allow(view) {
            return .filtered(reason: "integrations")
        }
        let start = output.count
        if copies[route], view.index.messageID.isPresent {
            output.append(contentsOf: view.json)
            let place = view.index.messageID.range
            return .routed(messageID: start + place.lowerBound..<start + place.upperBound)
        }
        let position = view.moment.position
        let outcome = stages[route].apply(
            view, messageID: MessageID.derived(journal: journal, position: position), into: &output)
        if fields.isUnreadable {
            output.removeLast(output.count - start)
            return .rejected(reason: StageRunner.unreadable)
        }
        switch outcome {
        case .written(let messageID): return .routed(messageID: messageID)
        case .dropped(let name): return .filtered(reason: name)
        case .rejected(let reason): return .rejected(reason: reason)
        }
    }

    /// The first route that takes it, and what is behind that.
    private func decide(_ view: borrowing EventView, into output: inout [UInt8], _ parts: inout Parts) {
        let taken = index.first(view, filters)
        if fields.isUnreadable { return parts.reject(StageRunner.unreadable) }
        guard let taken else { return parts.filter("no_route") }
        if view.index.flags.contains(.hasIntegrations), !integrations.allow(view) { return parts.filter("integrations") }
        let chain = chains[taken]
        var stages = chain.stages[...]
        let end: End
        if let outputs {
            end = .output(outputs)
        } else if let last = chain.last {
            end = .edits(last)
            stages = chain.stages.dropLast()
        } else {
            preconditionFailure("without a mapping, what is behind a route ends in edits")
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
            let json = runner.texts.bytes.span.extracting(runner.texts.range(of: k))
            write(runner.view(json, view), end, into: &output, &parts)
        }
    }

    /// What writes the destination's bytes: the last edits themselves, or the mappings behind them all.
    private enum End {
        case edits(EditStage)
        case output(OutputProgram)
    }

    private func write(_ view: borrowing EventView, _ end: End, into output: inout [UInt8], _ parts: inout Parts) {
        parts.begin(&output)
        let start = output.count
        // The second and later events that one became get ids of their own.
        switch end {
        case .edits(let stage):
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
            switch program.write(view, suffix: parts.suffix, into: &output) {
            case .written(let messageID): parts.finish(start..<output.count, messageID)
            case .nothing: parts.filter("mapping")
            case .tooLarge: parts.reject("mapping: what it makes of the event has more than \(program.limit) bytes (max_event_size)")
            case .tooLong: parts.reject("mapping: it takes more than \(MappingRun.maximumSteps) steps for this event")
            }
        }
        if fields.isUnreadable { parts.reject(StageRunner.unreadable) }
    }
}

/// What has come of one event so far. In the common case, one event of one, it allocates nothing.
private struct Parts {
    private let start: Int
    private var first: DestinationRouter.Part?
    private var others: [DestinationRouter.Part] = []
    private var filtered: String?
    private var rejected: String?

    init(_ output: [UInt8]) { start = output.count }

    var suffix: String { first == nil ? "" : ":\(others.count + 1)" }

    /// Another event is about to be appended.
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

    /// One event that is rejected takes the others, which came of the same, with it.
    func verdict(_ output: inout [UInt8]) -> DestinationRouter.Verdict {
        let end = rejected == nil ? (others.last ?? first)?.json.upperBound ?? start : start
        if output.count > end { output.removeLast(output.count - end) }
        if let rejected { return .rejected(reason: rejected) }
        guard let first else { return .filtered(reason: filtered ?? "no_route") }
        return others.isEmpty ? .routed(messageID: first.messageID) : .split([first] + others)
    }
}
