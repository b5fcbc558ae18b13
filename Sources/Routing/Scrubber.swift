import Events

/// Applies transforms to an event before it is stored, so that what they remove never reaches the disk. One thread.
package final class Scrubber {
    package enum Outcome: Sendable, Equatable {
        /// The event was appended: JSON without a line feed.
        case written
        /// The event must not be stored.
        case rejected(reason: String)
    }

    private let stages: [RouteChain.Stage]
    private let fields: EventFields
    private var runner: StageRunner

    package init(_ transforms: [Transform]) {
        var table = PathTable()
        stages =
            RouteChain(transforms.map(RouteChain.Step.init), endsInEdits: false, StageSurroundings(), &table).stages
        let indexer = EventIndexer(&table)
        fields = EventFields(table)
        runner = StageRunner(indexer)
    }

    /// - Parameters:
    ///   - json: an event that admission accepted.
    ///   - index: its index.
    package func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> Outcome {
        let fields = fields
        fields.startEvent()
        switch runner.run(stages[...], EventView(json: json, index: index, fields: fields)) {
        case .done:
            output.append(contentsOf: runner.texts.bytes)
            return .written
        case .dropped(let name): return .rejected(reason: "dropped by \(name)")
        case .rejected(let reason): return .rejected(reason: reason)
        }
    }
}
