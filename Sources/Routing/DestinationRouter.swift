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
// It never does input or output, knows no clock, no destination and no journal, and keeps nothing
// of an event after it has answered.
import Events

/// All that one destination's configuration says about an event: the first of its routes that
/// takes it, and what the destination gets. One thread.
package final class DestinationRouter {
    /// A route that names the destination.
    package struct Route: Sendable, Equatable {
        package var filter: Filter
        package var transforms: [Transform]

        package init(filter: Filter, transforms: [Transform]) {
            self.filter = filter
            self.transforms = transforms
        }
    }

    package enum Verdict: Sendable, Equatable {
        /// Appended to the output. The contents of its message id lie at this place in the output,
        /// escapes and all; empty if a transform made it something other than a string.
        case routed(messageID: Range<Int>)
        /// Not for this destination: `no_route`, `integrations` or `where` (the destination's own).
        case filtered(reason: String)
        /// For this destination, but a transform cannot do its work on it.
        case rejected(reason: String)
    }

    private let filters: [FilterProgram]
    private let chains: [RouteChain]
    private let integrations: Integrations
    private let fields: EventFields
    /// Numbers of the indexed fields' paths; only asked for between stages.
    private let indexedPaths: [Int]
    private let journal: [UInt8]
    /// The event between stages.
    private var draft: [UInt8] = []
    private var nextDraft: [UInt8] = []

    /// - Parameters:
    ///   - name: the destination's, as in the configuration.
    ///   - displayName: its preset's, which `integrations` may use as well.
    ///   - routes: those that lead to it, in order.
    ///   - filter: its own `where`, asked after the route's transforms.
    ///   - transforms: its own, applied last.
    ///   - journal: the 16 bytes that identify the journal the events come from; message ids derive from
    ///     them.
    package init(
        name: String, displayName: String? = nil, routes: [Route], filter: Filter = .always,
        transforms: [Transform] = [], journal: [UInt8]
    ) {
        var table = PathTable()
        filters = routes.map { FilterCompiler.compile($0.filter.expression, &table) }
        chains = routes.map { RouteChain($0.transforms, filter, transforms, &table) }
        integrations = Integrations(name: name, displayName: displayName, &table)
        indexedPaths =
            chains.contains { $0.stages.count > 1 } ? IndexedField.allCases.map { table.index(of: $0.path) } : []
        fields = EventFields(table)
        self.journal = journal
    }

    /// Decides about one event, and appends what the destination is to get to `output`: JSON, no
    /// line feed. Nothing is appended unless the verdict is `.routed`.
    package func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout [UInt8]) -> Verdict {
        fields.startEvent()
        let view = EventView(json: batch.json(of: event), index: event.index, fields: fields)
        guard event.length >= 2 else { return .rejected(reason: Self.unreadable) }
        var taken: Int?
        for i in filters.indices where filters[i].matches(view) {
            taken = i
            break
        }
        guard !fields.isUnreadable else { return .rejected(reason: Self.unreadable) }
        guard let taken else { return .filtered(reason: "no_route") }
        if event.index.flags.contains(.hasIntegrations), !integrations.allow(view) {
            return .filtered(reason: "integrations")
        }
        return apply(chains[taken].stages, view, event.position, into: &output)
    }

    private static let unreadable = "the event's bytes are not the JSON that was accepted"

    private func apply(
        _ stages: [RouteStage], _ view: borrowing EventView, _ position: UInt64, into output: inout [UInt8]
    ) -> Verdict {
        let start = output.count
        var outcome: RouteStage.Outcome
        if stages.count == 1 {
            outcome = stages[0].apply(
                view, messageID: MessageID.derived(journal: journal, position: position), into: &output)
        } else {
            outcome = applyInTurn(stages, view, position, into: &output)
        }
        if fields.isUnreadable {
            output.removeLast(output.count - start)
            return .rejected(reason: Self.unreadable)
        }
        switch outcome {
        case .written(let messageID): return .routed(messageID: messageID)
        case .unwanted: return .filtered(reason: "where")
        case .failed(let error): return .rejected(reason: error.description)
        }
    }

    /// Each stage reads what the one before has written.
    private func applyInTurn(
        _ stages: [RouteStage], _ view: borrowing EventView, _ position: UInt64, into output: inout [UInt8]
    ) -> RouteStage.Outcome {
        // Out of the class and back, so that nothing else can reach them meanwhile.
        var current: [UInt8] = []
        var next: [UInt8] = []
        swap(&current, &draft)
        swap(&next, &nextDraft)
        defer {
            swap(&current, &draft)
            swap(&next, &nextDraft)
        }
        current.removeAll(keepingCapacity: true)
        var outcome = stages[0].apply(view, messageID: nil, into: &current)
        for i in 1..<stages.count {
            guard case .written = outcome, !fields.isUnreadable else { return outcome }
            fields.startEvent()
            if i == stages.count - 1 {
                outcome = apply(
                    stages[i], current.span, view.index.kind,
                    MessageID.derived(journal: journal, position: position), into: &output)
            } else {
                next.removeAll(keepingCapacity: true)
                outcome = apply(stages[i], current.span, view.index.kind, nil, into: &next)
                swap(&current, &next)
            }
        }
        return outcome
    }

    /// A stage behind the first one.
    private func apply(
        _ stage: RouteStage, _ json: Span<UInt8>, _ kind: EventKind, _ messageID: @autoclosure () -> String?,
        into output: inout [UInt8]
    ) -> RouteStage.Outcome {
        let view = EventView(json: json, index: index(of: json, kind), fields: fields)
        return stage.apply(view, messageID: messageID(), into: &output)
    }

    /// The index of an event that was edited.
    private func index(of json: Span<UInt8>, _ kind: EventKind) -> EventIndex {
        var index = EventIndex(kind: kind)
        for (field, path) in zip(IndexedField.allCases, indexedPaths) {
            let value = fields.value(path, in: json)
            guard value.type == .string || value.type == .escapedString else { continue }
            field.set(value.slice, escaped: value.type == .escapedString, in: &index)
        }
        return index
    }
}
