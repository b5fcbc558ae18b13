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
        var json = scope.run.takeBuffer()
        var pair = scope.run.takeBuffer()
        var members = scope.run.takeMembers()
        defer {
            scope.run.giveBack(&json)
            scope.run.giveBack(&pair)
            scope.run.giveBack(&members)
        }
        guard scope.readJSON(object, into: &json) == .object else { return false }
        // Remove duplicate names first: the last member counts, and the shape runs for it only.
        members.add(0..<json.count, of: json.span, owner: 0, replaces: true)
        json.removeAll(keepingCapacity: true)
        members.write(to: &json)
        let start = output.count
        output.append(UInt8(ascii: "["))
        var cursor = ObjectCursor(0..<json.count)
        while let member = cursor.next(in: json.span), scope.run.allows(output.count - start) {
            guard let value = member.value.json else { continue }
            pair.removeAll(keepingCapacity: true)
            pair += Self.key
            pair.append(contentsOf: json.span.extracting(member.key.range))
            pair += Self.value
            pair.append(contentsOf: json.span.extracting(value))
            pair.append(UInt8(ascii: "}"))
            let mark = output.count
            if mark > start + 1 { output.append(UInt8(ascii: ",")) }
            guard let shape else {
                output += pair
                continue
            }
            if !scope.write(shape, inner: self.scope, pair.span, to: &output) {
                output.removeLast(output.count - mark)
            }
        }
        output.append(UInt8(ascii: "]"))
        return true
    }

    private static let key = Array(#"{"key":""#.utf8)
    private static let value = Array(#"","value":"#.utf8)
}
