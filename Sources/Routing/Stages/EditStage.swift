import Events

/// A run of editing transforms and filters whose edits are written together (see `RouteChain`). One thread.
final class EditStage {
    enum Outcome {
        /// The place of the message id's contents in the output.
        case written(messageID: Range<Int>)
        /// Dropped by the transform with this name, or by a filter (`where`).
        case dropped(by: String)
        case rejected(reason: String)
    }

    /// A class, so that a loop over the steps copies nothing.
    private final class Step {
        /// The transform's name, or `where` for a filter that is a separate step.
        let name: String
        /// Nil: every event matches.
        let condition: FilterProgram?
        /// Nil: an event that does not match the condition is dropped.
        let editor: (any EventEditor)?

        init(_ name: String, _ condition: FilterProgram, _ editor: (any EventEditor)?) {
            self.name = name
            self.condition = condition.isAlways ? nil : condition
            self.editor = editor
        }
    }

    private let steps: [Step]
    private let limit: Int
    private var overlay: Overlay
    /// The stage only ever adds constants at the event's top level: those of `constantEnd`.
    private let addsConstantsOnly: Bool
    private let constantEnd: ConstantEnd

    /// - Parameter findsTraits: as in `StageBinding`.
    init(
        _ steps: [RouteChain.Step], _ surroundings: StageSurroundings, findsTraits: Bool = true,
        _ table: inout PathTable
    ) {
        var binding = StageBinding(table, surroundings, findsTraits: findsTraits)
        limit = surroundings.limit
        var compiled: [Step] = []
        var constants: [ConstantMember]? = []
        for step in steps {
            switch step {
            case .requirement(let filter):
                compiled.append(Step("where", FilterCompiler.compile(filter.expression, &binding.table), nil))
                constants = nil
            case .edit(let transform, let definition):
                let condition = FilterCompiler.compile(transform.condition.expression, &binding.table)
                let editor = definition.makeEditor(&binding)
                if condition.isAlways, let members = editor.constantMembers {
                    constants?.append(contentsOf: members)
                } else {
                    constants = nil
                }
                compiled.append(Step(transform.name, condition, editor))
            case .rewrite: preconditionFailure("a rewriting transform is a separate stage")
            }
        }
        addsConstantsOnly = constants != nil
        constantEnd = ConstantEnd(constants ?? [])
        self.steps = compiled
        let messageIDNode = binding.node(IndexedField.messageID.path)
        table = binding.table
        overlay = Overlay(binding.tree, messageIDNode: messageIDNode)
    }

    /// Appends the event with its edits to `output`. Appends nothing unless the outcome is `.written`.
    /// - Parameters:
    ///   - messageID: for an event that has none. Nil: it gets none.
    ///   - isUnique: the event has no duplicate keys.
    func apply(
        _ view: borrowing EventView, messageID: @autoclosure () -> String?, isUnique: Bool = false,
        into output: inout [UInt8]
    ) -> Outcome {
        if let place = appendWhole(view, into: &output) { return .written(messageID: place) }

        // Passed as arguments: each access to a variable of a class is checked at run time.
        let end = Self.edit(view, steps, &overlay)
        if let end { return end }
        // A field that is removed or renamed must not leave an earlier duplicate behind.
        if overlay.hasEdits, view.fields.hasDuplicates, !isUnique {
            return applyToUnique(view, messageID: messageID(), into: &output)
        }
        let id = view.index.messageID.isPresent ? nil : messageID()
        let start = output.count
        let place = overlay.render(view, messageID: id, into: &output)
        guard output.count - start - view.json.count <= limit else {
            output.removeLast(output.count - start)
            return .rejected(reason: Self.tooLarge(limit))
        }
        return .written(messageID: place)
    }

    /// The reason for the rejection of an event that transforms make too large.
    static func tooLarge(_ limit: Int) -> String {
        "transforms add more than \(limit) bytes to the event (max_event_size)"
    }

    /// Applies the steps to the event.
    /// - Returns: nil if the event is to be written.
    private static func edit(_ view: borrowing EventView, _ steps: [Step], _ overlay: inout Overlay) -> Outcome? {
        overlay.startEvent()
        for step in steps {
            let isTaken = step.condition?.matches(view) ?? true
            guard let editor = step.editor else {
                if isTaken { continue }
                return .dropped(by: step.name)
            }
            guard isTaken else { continue }
            switch editor.edit(view, &overlay) {
            case .keep: if let failure = overlay.failure { return .rejected(reason: "\(step.name): \(failure)") }
            case .drop: return .dropped(by: step.name)
            case .reject(let reason): return .rejected(reason: "\(step.name): \(reason)")
            }
        }
        return nil
    }

    /// Applies the stage to an event with duplicate keys, after all but the last of each are removed. Rare and slow.
    private func applyToUnique(
        _ view: borrowing EventView, messageID: String?, into output: inout [UInt8]
    ) -> Outcome {
        var unique = UniqueMembers.copy(view.json)
        let length = unique.count
        var table = PathTable()
        let indexer = EventIndexer(&table)
        let index = indexer.index(of: unique.span, EventFields(table), kind: view.index.kind)
        unique.append(contentsOf: view.suffix)
        view.fields.startEvent()
        let view = EventView(memory: unique.span, length: length, index: index, of: view)
        return apply(view, messageID: messageID, isUnique: true, into: &output)
    }

    /// The common case, a single copy: there are no edits, or only constants that the event does not have yet.
    private func appendWhole(_ view: borrowing EventView, into output: inout [UInt8]) -> Range<Int>? {
        guard addsConstantsOnly, view.index.messageID.isPresent, !constantEnd.isIn(view) else { return nil }
        let start = output.count + Int(view.index.messageID.offset)
        constantEnd.append(view, to: &output)
        return start..<start + Int(view.index.messageID.length)
    }
}

/// The text that replaces the closing brace of an event, to add members that it does not have. All keys are in one
/// array, so that no reference is counted for an event.
private struct ConstantEnd {
    private let text: [UInt8]
    private let keys: [UInt8]
    private let members: [(key: Range<Int>, path: Int)]

    init(_ members: [ConstantMember]) {
        text = members.flatMap { [UInt8(ascii: ",")] + $0.key + $0.json } + [UInt8(ascii: "}")]
        var keys: [UInt8] = []
        self.members = members.map { member in
            let start = keys.count
            // Without the colon.
            keys += member.key.dropLast()
            return (start..<keys.count, member.path)
        }
        self.keys = keys
    }

    /// Whether the event has one of the members.
    func isIn(_ view: borrowing EventView) -> Bool {
        let keys = keys
        for index in members.indices {
            let key = keys.span.extracting(members[index].key)
            if view.mayHave(key), view.value(members[index].path).type != .missing { return true }
        }
        return false
    }

    /// Appends the event with the members.
    func append(_ view: borrowing EventView, to output: inout [UInt8]) {
        if members.isEmpty {
            output.append(contentsOf: view.json)
        } else {
            output.append(contentsOf: view.json.extracting(0..<view.json.count - 1))
            output.append(contentsOf: text.span)
        }
    }
}
