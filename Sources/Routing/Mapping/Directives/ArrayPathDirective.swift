import Events

extension Directive {
    static let arrayPath = Directive(
        "$arrayPath",
        .list([
            Argument("path", .value, required: true, "the list; any other value counts as a list of one item"),
            Argument("shape", .inner, "the mapping for each item; paths start at the item"),
        ]), "a list with each item mapped"
    ) { arguments throws(DirectiveFault) in
        let shape = arguments.inner("shape")
        return ArrayPathNode(list: try arguments.required("path"), shape: shape?.node, scope: shape?.scope ?? 0)
    }
}

private struct ArrayPathNode: MappingNode {
    let list: any MappingNode
    let shape: (any MappingNode)?
    let scope: Int

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        guard let shape else { return list.write(scope, to: &output) }
        if case .path(let path) = list.field {
            return write(scope.value(path), of: scope.view.memory, shape, scope, to: &output)
        }
        var json = scope.run.takeBuffer()
        defer { scope.run.giveBack(&json) }
        guard scope.readJSON(list, into: &json) != .missing else { return false }
        return write(FieldValue(of: json.span), of: json.span, shape, scope, to: &output)
    }

    private func write(
        _ value: FieldValue, of json: Span<UInt8>, _ shape: any MappingNode, _ scope: borrowing MappingScope,
        to output: inout [UInt8]
    ) -> Bool {
        guard let whole = value.json else { return false }
        if value.type == .null {
            output.append(contentsOf: json.extracting(whole))
            return true
        }
        let start = output.count
        output.append(UInt8(ascii: "["))
        if value.type == .array {
            var items = ListCursor(whole)
            while let item = items.next(in: json)?.json, scope.run.allows(output.count - start) {
                append(json.extracting(item), shape, scope, isFirst: output.count == start + 1, to: &output)
            }
        } else {
            append(json.extracting(whole), shape, scope, isFirst: true, to: &output)
        }
        output.append(UInt8(ascii: "]"))
        return true
    }

    private func append(
        _ item: Span<UInt8>, _ shape: any MappingNode, _ scope: borrowing MappingScope, isFirst: Bool,
        to output: inout [UInt8]
    ) {
        let mark = output.count
        if !isFirst { output.append(UInt8(ascii: ",")) }
        if !scope.write(shape, inner: self.scope, item, to: &output) { output.removeLast(output.count - mark) }
    }
}
