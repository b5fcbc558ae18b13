import Events

/// Asks a filter and each of its parts about one event. Slow: each part is compiled for itself.
enum FilterTracer {
    static func trace(_ expression: Expression, _ json: Span<UInt8>, _ index: EventIndex) -> FilterTrace {
        var table = PathTable()
        let program = FilterCompiler.compile(expression, &table)
        let fields = EventFields(table)
        var trace = FilterTrace(
            text: expression.description,
            isTrue: program.matches(EventView(json: json, index: index, fields: fields)))
        switch expression {
        case .all(let operands), .any(let operands): trace.parts = operands.map { self.trace($0, json, index) }
        case .not(let operand): trace.parts = [self.trace(operand, json, index)]
        case .null, .bool, .number, .string, .list, .path, .compare, .isIn, .call:
            trace.values = values(of: expression.paths, json)
        }
        return trace
    }

    private static func values(of paths: [FieldPath], _ json: Span<UInt8>) -> [FilterTrace.Field] {
        var table = PathTable()
        for path in paths { _ = table.index(of: path) }
        let fields = EventFields(table)
        return table.paths.enumerated().map { number, path in
            let value = fields.value(number, in: json)
            return FilterTrace.Field(
                path: path.description, json: value.json.map { String(copying: json.extracting($0)) })
        }
    }
}
