import Events

extension Directive {
    static let `case` = Directive(
        "$case",
        .arguments([
            Argument("operator", .choice(["lower", "upper"]), required: true, "lower or upper"),
            Argument("value", .value, required: true, "the text; any other value is unchanged"),
        ]), "a text in lower or upper case, by the rules of Unicode"
    ) { arguments throws(DirectiveFault) in
        CaseNode(
            value: try arguments.required("value"), letters: arguments.text("operator") == "upper" ? .upper : .lower)
    }
}

private struct CaseNode: MappingNode {
    let value: any MappingNode
    let letters: TextCase

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        switch scope.read(value, into: &text) {
        case .missing: return false
        case .string, .escapedString:
            scope.run.noteUnicode(bytes: text.count)
            letters.apply(to: &text, from: 0)
            JSONText.appendString(text.span, to: &output)
        default: output.append(contentsOf: text.span)
        }
        return true
    }
}
