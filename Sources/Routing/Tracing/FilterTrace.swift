import Events

/// What a filter said about one event, and which of its parts made it say so.
package struct FilterTrace: Sendable, Equatable {
    /// A part of a condition that depends on the event, and what it came to.
    package struct Seen: Sendable, Equatable {
        /// `properties.total`, `length(properties.items)`.
        package var text: String
        /// JSON; nil: the event has no such field.
        package var json: [UInt8]?
    }

    package enum Form: Sendable, Equatable {
        /// Nothing in it is a condition of its own.
        case condition([Seen])
        case all([FilterTrace])
        case any([FilterTrace])
        indirect case not(FilterTrace)
    }

    /// As it is written in a filter.
    package var text: String
    package var holds: Bool
    package var form: Form

    /// The conditions that the answer rests on: had they said otherwise, so might the whole.
    package var deciding: [FilterTrace] {
        switch form {
        case .condition: [self]
        case .all(let parts): (holds ? parts : parts.filter { !$0.holds }).flatMap(\.deciding)
        case .any(let parts): (holds ? parts.filter(\.holds) : parts).flatMap(\.deciding)
        case .not(let part): part.deciding
        }
    }

    package var seen: [Seen] { if case .condition(let seen) = form { seen } else { [] } }
}

/// A filter, ready to be explained: each of its parts is compiled for itself. One thread.
struct FilterTracer {
    private enum Form {
        case condition([Operand])
        case all([FilterTracer])
        case any([FilterTracer])
        indirect case not(FilterTracer)
    }

    private struct Operand {
        enum Source {
            /// In the path table.
            case field(Int)
            case computed(FilterProgram)
        }
        var text: String
        var source: Source
    }

    private let text: String
    private let program: FilterProgram
    private let form: Form

    init(_ expression: Expression, _ table: inout PathTable) {
        text = expression.description
        program = FilterCompiler.compile(expression, &table)
        switch expression {
        case .all(let operands): form = .all(operands.map { FilterTracer($0, &table) })
        case .any(let operands): form = .any(operands.map { FilterTracer($0, &table) })
        case .not(let operand) where operand.isJoint: form = .not(FilterTracer(operand, &table))
        default:
            var operands: [Operand] = []
            Self.collect(expression, isWhole: true, &operands, &table)
            form = .condition(operands)
        }
    }

    /// Fields, and what functions make of them; each once.
    private static func collect(_ expression: Expression, isWhole: Bool, _ operands: inout [Operand], _ table: inout PathTable) {
        guard expression.hasPath else { return }
        let text = expression.description
        guard !operands.contains(where: { $0.text == text }) else { return }
        switch expression {
        case .path(let path): operands.append(Operand(text: text, source: .field(table.index(of: path))))
        case .call(let function, let arguments):
            for argument in arguments { collect(argument, isWhole: false, &operands, &table) }
            // What a condition as a whole comes to is told anyway.
            if !isWhole || function.result != .bool {
                operands.append(Operand(text: text, source: .computed(FilterCompiler.compile(value: expression, &table))))
            }
        case .compare(_, let left, let right), .isIn(let left, let right):
            for operand in [left, right] { collect(operand, isWhole: false, &operands, &table) }
        case .not(let operand): collect(operand, isWhole: isWhole, &operands, &table)
        case .all(let parts), .any(let parts): for part in parts { collect(part, isWhole: false, &operands, &table) }
        case .null, .bool, .number, .string, .list: break
        }
    }

    func trace(_ view: borrowing EventView) -> FilterTrace {
        let holds = program.matches(view)
        switch form {
        case .all(let parts): return FilterTrace(text: text, holds: holds, form: .all(Self.trace(parts, view)))
        case .any(let parts): return FilterTrace(text: text, holds: holds, form: .any(Self.trace(parts, view)))
        case .not(let part): return FilterTrace(text: text, holds: holds, form: .not(part.trace(view)))
        case .condition(let operands):
            var seen: [FilterTrace.Seen] = []
            for operand in operands { seen.append(.init(text: operand.text, json: Self.json(operand.source, view))) }
            return FilterTrace(text: text, holds: holds, form: .condition(seen))
        }
    }

    private static func trace(_ parts: [FilterTracer], _ view: borrowing EventView) -> [FilterTrace] {
        var traces: [FilterTrace] = []
        for part in parts { traces.append(part.trace(view)) }
        return traces
    }

    private static func json(_ source: Operand.Source, _ view: borrowing EventView) -> [UInt8]? {
        switch source {
        case .field(let path):
            guard let range = view.value(path).json else { return nil }
            var json: [UInt8] = []
            json.append(contentsOf: view.json.extracting(range))
            return json
        case .computed(let program):
            var evaluation = FilterEvaluation(program, view)
            var json: [UInt8] = []
            evaluation.result(program.root).jsonValue.append(to: &json)
            return json
        }
    }
}

extension Expression {
    /// Made of conditions.
    fileprivate var isJoint: Bool {
        switch self {
        case .all, .any: true
        case .not(let operand): operand.isJoint
        default: false
        }
    }
}
