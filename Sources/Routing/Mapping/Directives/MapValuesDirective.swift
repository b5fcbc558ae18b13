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
        var json = scope.run.takeBuffer()
        var members = scope.run.takeMembers()
        defer {
            scope.run.giveBack(&json)
            scope.run.giveBack(&members)
        }
        guard scope.readJSON(object, into: &json) == .object else { return false }
        // Remove duplicate names first: the last member counts, and the shape runs for it only.
        members.add(0..<json.count, of: json.span, owner: 0, replaces: true)
        json.removeAll(keepingCapacity: true)
        members.write(to: &json)
        let start = output.count
        output.append(UInt8(ascii: "{"))
        var cursor = ObjectCursor(0..<json.count)
        while let member = cursor.next(in: json.span), scope.run.allows(output.count - start) {
            guard let value = member.value.json else { continue }
            let mark = output.count
            if mark > start + 1 { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            output.append(contentsOf: json.span.extracting(member.key.range))
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
            if !scope.write(shape, inner: self.scope, json.span.extracting(value), to: &output) {
                output.removeLast(output.count - mark)
            }
        }
        output.append(UInt8(ascii: "}"))
        return true
    }
}
