import Events

extension Directive {
    static let entries = Directive(
        "$entries",
        .list([
            Argument("object", .value, required: true, "the object"),
            Argument("shape", .inner, "the mapping for each pair; its paths are key and value; default: the pair"),
        ]), "an object's members as a list of pairs of key and value"
    ) { arguments throws(DirectiveFault) in
        let shape = arguments.inner("shape")
        return EntriesNode(object: try arguments.required("object"), shape: shape?.node, scope: shape?.scope ?? 0)
    }
}

private struct EntriesNode: MappingNode {
    let object: any MappingNode
    let shape: (any MappingNode)?
    let scope: Int

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var pair = scope.run.takeBuffer()
        defer { scope.run.giveBack(&pair) }
        return scope.writeMembers(of: object, in: ("[", "]"), to: &output) { name, value, output in
            pair.removeAll(keepingCapacity: true)
            pair += Self.key
            pair.append(contentsOf: name)
            pair += Self.value
            pair.append(contentsOf: value)
            pair.append(UInt8(ascii: "}"))
            guard let shape else {
                output += pair
                return true
            }
            return scope.write(shape, inner: self.scope, pair.span, to: &output)
        }
    }

    private static let key = Array(#"{"key":""#.utf8)
    private static let value = Array(#"","value":"#.utf8)
}
