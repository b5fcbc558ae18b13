import Events

extension Directive {
    static let number = Directive(
        "$number", .value,
        "a number; text that contains a number keeps its digits, true becomes 1, false becomes 0, null stays null; for"
            + " any other value, the result is missing"
    ) { arguments throws(DirectiveFault) in
        NumberNode(value: try arguments.required())
    }

    static let string = Directive(
        "$string", .value, "a text; any other value becomes its JSON text, null stays null"
    ) { arguments throws(DirectiveFault) in
        StringNode(value: try arguments.required())
    }
}

private struct NumberNode: MappingNode {
    let value: any MappingNode

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        switch scope.read(value, into: &text) {
        case .missing, .array, .object: return false
        case .null, .number: output.append(contentsOf: text.span)
        case .true: output.append(UInt8(ascii: "1"))
        case .false: output.append(UInt8(ascii: "0"))
        case .string, .escapedString:
            guard let start = text.firstIndex(where: { $0 != 0x20 }), let end = text.lastIndex(where: { $0 != 0x20 })
            else { return false }
            let digits = text.span.extracting(start...end)
            guard JSONNumber(digits) != nil else { return false }
            output.append(contentsOf: digits)
        }
        return true
    }
}

private struct StringNode: MappingNode {
    let value: any MappingNode

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var json = scope.run.takeBuffer()
        defer { scope.run.giveBack(&json) }
        switch scope.readJSON(value, into: &json) {
        case .missing: return false
        case .null, .string, .escapedString: output.append(contentsOf: json.span)
        case .number, .true, .false, .array, .object: JSONText.appendString(json.span, to: &output)
        }
        return true
    }
}
