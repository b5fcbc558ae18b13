import Events

extension Directive {
    static let match = Directive(
        "$match",
        .arguments([
            Argument("value", .value, required: true, "the text; numbers and booleans as they are spelled"),
            Argument("pattern", .text, required: true, "a regular expression (RE2) that all of the text has to match"),
            Argument("then", .value, default: "the value", "what it is if the text matches"),
            Argument("else", .value, "what it is if it does not; without it: nothing"),
        ]), "one of two values, by what a text looks like"
    ) { arguments throws(DirectiveFault) in
        do throws(FilterError) {
            let value = try? arguments.required("value")
            guard let value else { throw FilterError(0..<0, "value is missing") }
            return MatchNode(
                value: value, pattern: try TextPattern(arguments.text("pattern") ?? ""),
                then: arguments.value("then") ?? value, otherwise: arguments.value("else"))
        } catch {
            throw DirectiveFault(argument: "pattern", message: error.message, hint: error.hint)
        }
    }

    static let prefix = Directive(
        "$prefix",
        .arguments([
            Argument("value", .value, required: true, "the text; anything else stays as it is"),
            Argument("length", .integer(1...1 << 20), required: true, "how many characters of it, at most"),
        ]), "the beginning of a text"
    ) { arguments throws(DirectiveFault) in
        PrefixNode(value: try arguments.required("value"), length: arguments.integer("length") ?? 0)
    }
}

private struct MatchNode: MappingNode {
    let value: any MappingNode
    let pattern: TextPattern
    let then: any MappingNode
    let otherwise: (any MappingNode)?

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        let type = scope.read(value, into: &text)
        let matches =
            switch type {
            case .missing, .null, .array, .object: false
            default: pattern.matches(text.span)
            }
        scope.run.giveBack(&text)
        return (matches ? then : otherwise)?.write(scope, to: &output) ?? false
    }
}

private struct PrefixNode: MappingNode {
    let value: any MappingNode
    let length: Int

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        switch scope.read(value, into: &text) {
        case .missing: return false
        case .string, .escapedString:
            var end = 0
            var characters = 0
            while end < text.count {
                // A byte that begins a character: none of the form 10xxxxxx.
                if text[end] & 0xC0 != 0x80 { characters += 1 }
                if characters > length { break }
                end += 1
            }
            JSONText.appendString(text.span.extracting(0..<end), to: &output)
        default: output.append(contentsOf: text.span)
        }
        return true
    }
}
