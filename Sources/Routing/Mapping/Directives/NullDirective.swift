extension Directive {
    static let excludeWhenNull = Directive("$excludeWhenNull", .value, "the value, unless it is null") {
        arguments throws(DirectiveFault) in
        ExcludeWhenNullNode(value: try arguments.required())
    }
}

private struct ExcludeWhenNullNode: MappingNode {
    let value: any MappingNode

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        let start = output.count
        guard value.write(scope, to: &output) else { return false }
        // Null is the only JSON value that starts with n.
        guard output.count > start, output[start] == UInt8(ascii: "n") else { return true }
        output.removeLast(output.count - start)
        return false
    }
}
