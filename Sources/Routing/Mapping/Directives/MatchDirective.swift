import Events

extension Directive {
    static let match = Directive(
        "$match",
        .arguments([
            Argument("value", .value, required: true, "the text; a number or boolean is matched by its JSON spelling"),
            Argument("pattern", .text, required: true, "a regular expression (RE2) that must match the whole text"),
            Argument("then", .value, default: "the value", "the value if the text matches"),
            Argument("else", .value, "the value if the text does not match; missing by default"),
        ]), "one of two values, chosen by a regular expression"
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
            Argument("value", .value, required: true, "the text; any other value is unchanged"),
            Argument("length", .integer(1...1 << 20), required: true, "maximum number of characters"),
        ]), "the first characters of a text"
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
                // Count bytes that begin a character: all except those of the form 10xxxxxx.
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
