import Events

/// One rewriting transform as a stage. One thread.
final class RewriteStage {
    enum Outcome {
        /// No event, one or several were appended.
        case written
        case rejected(reason: String)
    }

    let name: String
    private let condition: FilterProgram
    private let rewriter: any EventRewriter

    init(
        _ transform: Transform, _ definition: any RewritingTransform, _ surroundings: StageSurroundings,
        _ table: inout PathTable
    ) {
        name = transform.name
        condition = FilterCompiler.compile(transform.condition.expression, &table)
        rewriter = definition.makeRewriter(&table, surroundings)
    }

    func apply(_ view: borrowing EventView, into output: inout EventTexts) -> Outcome {
        guard condition.matches(view) else {
            output.append(view.json)
            return .written
        }
        let count = output.count
        switch rewriter.rewrite(view, into: &output) {
        case .unchanged:
            output.append(view.json)
            return .written
        case .rewritten: return .written
        case .reject(let reason):
            output.keep(count)
            return .rejected(reason: "\(name): \(reason)")
        }
    }
}
