import Events

extension Directive {
    /// Maximum size of a pattern, in bytes. With the maximum size of an event, it bounds the time of a search.
    private static let longestPattern = 256

    static let replace = Directive(
        "$replace",
        .arguments([
            Argument(
                "pattern", .text, required: true,
                "the text to replace, taken literally; at most \(longestPattern) bytes"),
            Argument("replacement", .text, default: "\"\"", "its replacement"),
            Argument("pattern2", .text, "a second text, replaced after the first"),
            Argument("replacement2", .text, default: "\"\"", "its replacement"),
            Argument("ignorecase", .flag, default: "false", "whether upper and lower case are treated as equal"),
            Argument("global", .flag, default: "true", "whether to replace all occurrences or only the first"),
            Argument(
                "value", .value, required: true,
                "the text; a number or boolean becomes text, any other value is unchanged"),
        ]), "a text with some parts replaced"
    ) { arguments throws(DirectiveFault) in
        var replacements: [ReplaceNode.Replacement] = []
        for (pattern, replacement) in [("pattern", "replacement"), ("pattern2", "replacement2")] {
            guard let text = arguments.text(pattern) else {
                guard arguments.text(replacement) == nil else {
                    throw DirectiveFault(argument: replacement, message: "\(replacement) needs \(pattern)")
                }
                continue
            }
            guard !text.isEmpty, text.utf8.count <= longestPattern else {
                throw DirectiveFault(argument: pattern, message: "\(pattern) must have 1 to \(longestPattern) bytes")
            }
            replacements.append(.init(text, arguments.text(replacement) ?? ""))
        }
        return ReplaceNode(
            value: try arguments.required("value"), replacements: replacements,
            ignoresCase: arguments.flag("ignorecase") ?? false, isGlobal: arguments.flag("global") ?? true)
    }
}

private struct ReplaceNode: MappingNode {
    struct Replacement: Sendable {
        var pattern: [UInt8]
        var folded: [Unicode.Scalar]
        var text: [UInt8]

        init(_ pattern: String, _ text: String) {
            self.pattern = Array(pattern.utf8)
            folded = pattern.unicodeScalars.map(\.folded)
            self.text = Array(text.utf8)
        }
    }

    let value: any MappingNode
    let replacements: [Replacement]
    let ignoresCase: Bool
    let isGlobal: Bool

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        var replaced = scope.run.takeBuffer()
        defer {
            scope.run.giveBack(&text)
            scope.run.giveBack(&replaced)
        }
        switch scope.read(value, into: &text) {
        case .missing: return false
        case .null, .array, .object: output.append(contentsOf: text.span)
        case .string, .escapedString, .number, .true, .false:
            for replacement in replacements {
                replaced.removeAll(keepingCapacity: true)
                if ignoresCase {
                    replaceFolded(replacement, in: text, into: &replaced, scope.run)
                } else {
                    replace(replacement, in: text.span, into: &replaced, scope.run)
                }
                swap(&text, &replaced)
            }
            JSONText.appendString(text.span, to: &output)
        }
        return true
    }

    /// Replaces by comparing bytes. This is safe in UTF-8, where no character's encoding is part of another's.
    private func replace(
        _ replacement: Replacement, in text: Span<UInt8>, into output: inout [UInt8], _ run: MappingRun
    ) {
        let pattern = replacement.pattern
        var position = 0
        var copied = 0
        while position + pattern.count <= text.count {
            guard text[position] == pattern[0],
                text.extracting(position..<position + pattern.count).hasBytes(of: pattern.span)
            else {
                position += 1
                continue
            }
            output.append(contentsOf: text.extracting(copied..<position))
            output.append(contentsOf: replacement.text.span)
            position += pattern.count
            copied = position
            guard isGlobal, run.allows(output.count) else { break }
        }
        output.append(contentsOf: text.extracting(copied...))
    }

    private func replaceFolded(
        _ replacement: Replacement, in text: [UInt8], into output: inout [UInt8], _ run: MappingRun
    ) {
        run.noteUnicode(bytes: text.count)
        let scalars = Array(String(decoding: text, as: UTF8.self).unicodeScalars)
        let folded = scalars.map(\.folded)
        let pattern = replacement.folded
        var position = 0
        var isDone = false
        while position < scalars.count {
            if !isDone, position + pattern.count <= folded.count,
                folded[position..<position + pattern.count].elementsEqual(pattern)
            {
                output.append(contentsOf: replacement.text.span)
                position += pattern.count
                isDone = !isGlobal || !run.allows(output.count)
            } else {
                output.append(contentsOf: UTF8.encode(scalars[position]) ?? .init())
                position += 1
            }
        }
    }
}

extension Unicode.Scalar {
    /// The scalar's lower case, if that is a single scalar.
    fileprivate var folded: Unicode.Scalar {
        let mapped = properties.lowercaseMapping.unicodeScalars
        return mapped.count == 1 ? mapped.first ?? self : self
    }
}
