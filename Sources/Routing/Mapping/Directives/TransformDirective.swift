import Events

extension Directive {
    static let transform = Directive(
        "$transform",
        .arguments([
            Argument("apply", .value, required: true, "the first mapping"),
            Argument("mapping", .inner, required: true, "the mapping of its result; paths start at the result"),
        ]), "a mapping applied to the result of another mapping"
    ) { arguments throws(DirectiveFault) in
        guard let mapping = arguments.inner("mapping") else { throw DirectiveFault(message: "mapping is missing") }
        return TransformNode(first: try arguments.required("apply"), mapping: mapping.node, scope: mapping.scope)
    }
}

private struct TransformNode: MappingNode {
    let first: any MappingNode
    let mapping: any MappingNode
    let scope: Int

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var json = scope.run.takeBuffer()
        defer { scope.run.giveBack(&json) }
        // An empty object makes every path missing.
        if scope.readJSON(first, into: &json) == .missing { json.append(contentsOf: "{}".utf8) }
        return scope.write(mapping, inner: self.scope, json.span, to: &output)
    }
}
