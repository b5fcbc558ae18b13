import Events

extension Directive {
    static let mapValues = Directive(
        "$mapValues",
        .list([
            Argument("object", .value, required: true, "the object"),
            Argument("shape", .inner, required: true, "the mapping for each value; paths start at the value"),
        ]), "an object with each member's value mapped"
    ) { arguments throws(DirectiveFault) in
        guard let shape = arguments.inner("shape") else { throw DirectiveFault(message: "shape is missing") }
        return MapValuesNode(object: try arguments.required("object"), shape: shape.node, scope: shape.scope)
    }
}

private struct MapValuesNode: MappingNode {
    let object: any MappingNode
    let shape: any MappingNode
    let scope: Int

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        scope.writeMembers(of: object, in: ("{", "}"), to: &output) { name, value, output in
            output.append(UInt8(ascii: "\""))
            output.append(contentsOf: name)
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
            return scope.write(shape, inner: self.scope, value, to: &output)
        }
    }
}
