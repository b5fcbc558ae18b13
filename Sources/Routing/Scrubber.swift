import Events

/// Transforms that an event passes before it is stored: what they take away was never there. One
/// thread.
package final class Scrubber {
    package enum Outcome: Sendable, Equatable {
        /// Appended: JSON, no line feed.
        case written
        /// Not to be stored.
        case rejected(reason: String)
    }

    private let stages: [RouteChain.Stage]
    private let fields: EventFields
    private var runner: StageRunner

    package init(_ transforms: [Transform]) {
        var table = PathTable()
        stages = RouteChain(transforms.map(RouteChain.Step.init), endsInEdits: false, StageSurroundings(), &table).stages
        let indexer = EventIndexer(&table)
        fields = EventFields(table)
        runner = StageRunner(fields, indexer)
    }

    /// - Parameters:
    ///   - json: an event that the door accepted.
    ///   - index: its index.
    package func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> Outcome {
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
