import Events

extension Directive {
    static let transform = Directive(
        "$transform",
        .arguments([
            Argument("apply", .value, required: true, "what is made first"),
            Argument("mapping", .inner, required: true, "what is made of that, with paths that begin there"),
        ]), "a mapping of what another mapping gives"
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
        // Of nothing, every path is missing.
        if scope.readJSON(first, into: &json) == .missing { json.append(contentsOf: "{}".utf8) }
        return scope.write(mapping, inner: self.scope, json.span, to: &output)
    }
}
