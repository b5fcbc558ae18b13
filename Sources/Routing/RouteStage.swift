import Events

/// A run of transforms whose edits are written together (`RouteChain`). One thread.
final class RouteStage {
    enum Outcome {
        /// Where the message id's contents lie in the output.
        case written(messageID: Range<Int>)
        /// The destination's own filter does not take it.
        case unwanted
        case failed(EditError)
    }

    private enum Step {
        case requirement(FilterProgram)
        case set(condition: FilterProgram, [(node: Int, value: ValueWriter)])
    }

    private let steps: [Step]
    private var overlay: Overlay
    /// Nothing but constants at the event's top level, always: what to put in place of the closing
    /// brace of an event that has none of these fields, the numbers of their paths, and their keys.
    private let constantEnd: (text: [UInt8], paths: [Int], keys: [[UInt8]])?

    init(_ steps: [RouteChain.Step], _ table: inout PathTable) {
        var tree = EditTree()
        var compiled: [Step] = []
        var end: (text: [UInt8], paths: [Int], keys: [[UInt8]])? = ([], [], [])
        for step in steps {
            switch step {
            case .requirement(let filter):
                compiled.append(.requirement(FilterCompiler.compile(filter.expression, &table)))
            case .transform(let transform):
                let condition = FilterCompiler.compile(transform.condition.expression, &table)
                switch transform.operation {
                case .set(let set):
                    var assignments: [(node: Int, value: ValueWriter)] = []
                    for assignment in set.assignments {
                        let node = tree.node(assignment.path, &table)
                        assignments.append((node, ValueWriter(assignment.value, &table)))
                        guard case .constant(let json) = assignment.value, assignment.path.segments.count == 1,
                            condition.isAlways
                        else {
                            end = nil
                            continue
                        }
                        end?.text += [UInt8(ascii: ",")] + tree.nodes[node].key + json
                        end?.paths.append(tree.nodes[node].path)
                        end?.keys.append(tree.nodes[node].key.dropLast())
                    }
                    compiled.append(.set(condition: condition, assignments))
                }
            }
        }
        end?.text.append(UInt8(ascii: "}"))
        constantEnd = end
        self.steps = compiled
        let messageIDNode = tree.node(IndexedField.messageID.path, &table)
        overlay = Overlay(tree, messageIDNode: messageIDNode)
    }

    /// Appends the event with its edits to `output`; nothing, unless the outcome is `.written`.
    func apply(
        _ view: borrowing EventView, messageID: @autoclosure () -> String?, into output: inout [UInt8]
    ) -> Outcome {
        for case .requirement(let filter) in steps where !filter.matches(view) { return .unwanted }
        if let place = appendWhole(view, into: &output) { return .written(messageID: place) }

        overlay.startEvent()
        for case .set(let condition, let assignments) in steps where condition.matches(view) {
            for assignment in assignments { overlay.set(assignment.node, assignment.value, view) }
        }
        if !view.index.messageID.isPresent, let id = messageID() { overlay.addMessageID(id) }
        do {
            return .written(messageID: try overlay.render(view, into: &output))
        } catch {
            return .failed(error)
        }
    }

    /// The common case, one copy: no edits, or constants that are new to the event.
    private func appendWhole(_ view: borrowing EventView, into output: inout [UInt8]) -> Range<Int>? {
        guard let constantEnd, view.index.messageID.isPresent else { return nil }
        // The bytes alone mostly say that a key is new to the event, without a look at its fields.
        for (path, key) in zip(constantEnd.paths, constantEnd.keys) {
            if JSONText.mayHaveKey(key.span, in: view.json), view.value(path).type != .missing { return nil }
        }
        let start = output.count + Int(view.index.messageID.offset)
        if constantEnd.paths.isEmpty {
            output.append(contentsOf: view.json)
        } else {
            output.append(contentsOf: view.json.extracting(0..<view.json.count - 1))
            output.append(contentsOf: constantEnd.text)
        }
        return start..<start + Int(view.index.messageID.length)
    }
}
