import Events

/// Evaluates a filter and each of its parts for one event. Slow: each part is compiled on its own.
enum FilterTracer {
    static func trace(_ expression: Expression, _ event: TracedEvent) -> FilterTrace {
        var table = PathTable()
        let program = FilterCompiler.compile(expression, &table)
        let fields = EventFields(table)
        var trace = FilterTrace(text: expression.description, isTrue: program.matches(event.view(fields)))
        switch expression {
        case .all(let operands), .any(let operands): trace.parts = operands.map { self.trace($0, event) }
        case .not(let operand): trace.parts = [self.trace(operand, event)]
        case .null, .bool, .number, .string, .list, .path, .compare, .isIn, .call:
            trace.values = values(of: expression.operands(isWhole: true), event)
        }
        return trace
    }

    /// - Parameter operands: fields and calls of functions.
    private static func values(of operands: [Expression], _ event: TracedEvent) -> [FilterTrace.Field] {
        var values: [FilterTrace.Field] = []
        for operand in operands where !values.contains(where: { $0.text == operand.description }) {
            var table = PathTable()
            var value: String?
            if case .path(let path) = operand {
                let number = table.reading(path)
                let fields = EventFields(table)
                let view = event.view(fields)
                if let range = view.value(number).json { value = String(copying: view.memory.extracting(range)) }
            } else {
                let program = FilterCompiler.compile(value: operand, &table)
                let fields = EventFields(table)
                var evaluation = FilterEvaluation(program, event.view(fields))
                var text: [UInt8] = []
                evaluation.result(program.root).jsonValue.append(to: &text)
                value = String(decoding: text, as: UTF8.self)
            }
            values.append(FilterTrace.Field(text: operand.description, json: value))
        }
        return values
    }
}

extension Expression {
    /// The fields, and the calls of functions with their results. A call that is the whole condition is not included.
    fileprivate func operands(isWhole: Bool) -> [Expression] {
        switch self {
        case .null, .bool, .number, .string, .list: []
        case .path: [self]
        case .call(let function, let arguments):
            arguments.flatMap { $0.operands(isWhole: false) }
                + (isWhole && function.result == .bool || !hasPath ? [] : [self])
        case .compare(_, let left, let right), .isIn(let left, let right):
            left.operands(isWhole: false) + right.operands(isWhole: false)
        case .not(let operand): operand.operands(isWhole: isWhole)
        case .all(let parts), .any(let parts): parts.flatMap { $0.operands(isWhole: false) }
        }
    }
}
