import Events

extension Directive {
    static let json = Directive(
        "$json",
        .arguments([
            Argument(
                "mode", .choice(["encode", "decode"]), required: true, "encode: value to text; decode: text to value"),
            Argument("value", .value, required: true, "the value; decode leaves values other than text unchanged"),
        ]), "a value as JSON text, or the value of a JSON text; the result is missing if the text is not valid JSON"
    ) { arguments throws(DirectiveFault) in
        let value = try arguments.required("value")
        return arguments.text("mode") == "decode" ? JSONDecodeNode(value: value) : JSONEncodeNode(value: value)
    }
}

private struct JSONEncodeNode: MappingNode {
    let value: any MappingNode

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var json = scope.run.takeBuffer()
        defer { scope.run.giveBack(&json) }
        guard scope.readJSON(value, into: &json) != .missing else { return false }
        let start = output.count
        JSONText.appendString(json.span, to: &output)
        // Each encoding can double the length, so nested encodings need a bound.
        return scope.run.allows(output.count - start)
    }
}

private struct JSONDecodeNode: MappingNode {
    /// Levels of nested lists and objects.
    private static let maximumDepth = 64

    let value: any MappingNode

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        switch scope.read(value, into: &text) {
        case .missing: return false
        case .string, .escapedString:
            // Line feeds between tokens would end the event in the output.
            guard let document = JSONDocument(text, maximumDepth: Self.maximumDepth) else { return false }
            return document.appendCompact(from: text, to: &output)
        default:
            output.append(contentsOf: text.span)
            return true
        }
    }
}
