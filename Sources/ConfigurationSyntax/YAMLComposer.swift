import Yams

/// Parses text to `YAMLNode`s with Yams, and adds what a configuration needs.
///
/// - Yams stops at a key that is set twice, names only the first place, and returns nothing else of the file. So the
///   first of the two is renamed in a copy of the text, at equal length, and the copy is parsed again. Both keys are
///   then in the tree, each with its place.
/// - Yams applies YAML 1.1's rules to plain values (`yes`, `on`, `1:30`). The basic resolver leaves them unchanged, and
///   the reader of a value decides its type.
/// - Aliases share nodes in Yams' tree, so a file of a few lines can expand to billions of nodes. `YAMLExpansion` walks
///   the tree with a limit.
package struct YAMLComposer {
    /// The most duplicate keys to handle; a file with more is broken. Each one parses the text again, so the limit is
    /// lower for a long text.
    private static let duplicates = 10...100
    private static let maximumReparsed = 4 << 20

    private let file: ConfigurationFile
    private let diagnostics: Diagnostics
    /// The lines to parse: those of the file, with keys renamed.
    private var lines: [[Unicode.Scalar]]
    private var renamed: [YAMLPosition: String] = [:]

    package enum Result {
        case root(YAMLNode)
        /// The file holds at most comments.
        case empty
        /// The diagnostics hold the reason.
        case broken
    }

    package static func compose(_ file: ConfigurationFile, _ diagnostics: Diagnostics) -> Result {
        var composer = YAMLComposer(file: file, diagnostics: diagnostics)
        return composer.keysAreBounded() ? composer.compose() : .broken
    }

    private init(file: ConfigurationFile, diagnostics: Diagnostics) {
        self.file = file
        self.diagnostics = diagnostics
        lines = file.scalars
    }

    private mutating func compose() -> Result {
        let maximum = min(
            max(Self.maximumReparsed / (file.text.utf8.count + 1), Self.duplicates.lowerBound),
            Self.duplicates.upperBound)
        for _ in 0...maximum {
            var text = String.UnicodeScalarView()
            // Append scalars one by one. Appending a sequence would reallocate to the exact size each time and copy
            // everything.
            for line in lines {
                for scalar in line { text.append(scalar) }
                text.append("\n")
            }
            do {
                let parser = try Parser(yaml: String(text), resolver: .basic, encoding: .utf8)
                guard let root = try parser.singleRoot() else { return .empty }
                var expansion = YAMLExpansion(file: file, diagnostics: diagnostics, renamed: renamed)
                return expansion.expand(root).map { .root($0) } ?? .broken
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                let position = YAMLPosition(line: context.mark.line, column: context.mark.column)
                guard let name = names.first, rename(name, at: position) else {
                    diagnostics.error(
                        at: file.place(line: position.line, column: position.column),
                        "this key is set twice in its map, or it is not plain text",
                        hint: "remove one of the two; a key that is a map, a list or an alias is not allowed")
                    return .broken
                }
            } catch {
                report(error)
                return .broken
            }
        }
        diagnostics.error(at: file.place(line: 1, column: 1), "more than \(maximum) keys are set twice")
        return .broken
    }

    /// Replaces the first character of the key at `position` with one that occurs nowhere in the text.
    private mutating func rename(_ name: String, at position: YAMLPosition) -> Bool {
        guard renamed[position] == nil, lines.indices.contains(position.line - 1), !name.isEmpty else { return false }
        let line = lines[position.line - 1]
        var index = YAMLPosition.skipProperties(line, from: position.column - 1)
        if index < line.count, line[index] == "\"" || line[index] == "'" { index += 1 }
        // An escape, or an alias whose text is elsewhere: not handled.
        guard index < line.count, line[index] == name.unicodeScalars.first, let unused = unusedScalar() else {
            return false
        }
        lines[position.line - 1][index] = unused
        renamed[position] = name
        return true
    }

    /// A private-use character that does not occur in the text.
    private func unusedScalar() -> Unicode.Scalar? {
        (UInt32(0xE000)...0xF8FF).lazy.compactMap(Unicode.Scalar.init).first { candidate in
            !lines.contains { $0.contains(candidate) }
        }
    }

    /// Yams hashes every key, and hashing a key that is itself a tree of aliases can take forever. A few aliases are
    /// harmless; in a file with more, keys must be plain text.
    ///
    /// This check looks at characters before anything is parsed, so it may mistake quoted text for an alias or a key.
    /// That happens only in a file with many aliases, and the error says what to do.
    private func keysAreBounded() -> Bool {
        var aliases = 0
        var suspect: YAMLPosition?
        for (number, line) in lines.enumerated() {
            for (column, scalar) in line.enumerated() {
                let rest = line[(column + 1)...]
                let isKey: Bool
                switch scalar {
                case "*" where rest.first.map(Self.isAnchorCharacter) ?? false:
                    aliases += 1
                    isKey = Self.isFollowedByColon(rest.drop(while: Self.isAnchorCharacter))
                case "]", "}":
                    isKey = Self.isFollowedByColon(rest)
                case "?":
                    isKey = rest.first.map(Self.isBlank) ?? true
                default:
                    isKey = false
                }
                if isKey, suspect == nil { suspect = YAMLPosition(line: number + 1, column: column + 1) }
            }
        }
        guard aliases > 16, let suspect else { return true }
        diagnostics.error(
            at: file.place(line: suspect.line, column: suspect.column),
            "in a file with more than 16 aliases, a key must be plain text",
            hint: "if this is no key, move it away from the colon or question mark, or use fewer aliases")
        return false
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" }

    private static func isAnchorCharacter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "-" || scalar == "_"
    }

    private static func isFollowedByColon(_ rest: ArraySlice<Unicode.Scalar>) -> Bool {
        rest.first { !isBlank($0) } == ":"
    }

    private func report(_ error: any Error) {
        switch error as? YamlError {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _):
            syntaxError(problem, mark, context)
        case .composer(_, let problem, let mark, _) where problem.contains("another document"):
            diagnostics.error(
                at: file.place(line: mark.line, column: mark.column), "a second YAML document begins here",
                hint: "a configuration file holds one document; put the rest into a file in conf.d")
        case .composer(let context, let problem, let mark, _):
            syntaxError(problem, mark, context)
        case .reader(let problem, _, _, _):
            diagnostics.error(at: file.place(line: 1, column: 1), "not YAML: \(problem)")
        default:
            diagnostics.error(at: file.place(line: 1, column: 1), "not YAML")
        }
    }

    private func syntaxError(_ problem: String, _ mark: Mark, _ context: YamlError.Context?) {
        // libyaml's own depth limit is above ours, and its message is for programmers.
        if problem.contains("nesting level") {
            diagnostics.error(
                at: file.place(line: mark.line, column: mark.column), YAMLExpansion.tooDeep,
                hint: "close what was opened, or nest less deeply")
            return
        }
        // An unclosed quote is found at the end of the file. The place where it opens is more useful.
        if let context, problem.contains("unexpected end of stream") {
            diagnostics.error(
                at: file.place(line: context.mark.line, column: context.mark.column),
                "not YAML: \(problem) \(context.text)", hint: hint(for: problem, lines: [context.mark.line]))
            return
        }
        // libyaml may point past the last line.
        let line = min(mark.line, max(1, file.lines.count))
        let place = file.place(line: line, column: line == mark.line ? mark.column : 1)
        var note: Diagnostic.Note?
        if let context, context.mark.line < line {
            note = .init(context.text, at: file.place(line: context.mark.line, column: context.mark.column))
        }
        diagnostics.error(
            at: place, "not YAML: \(problem)", hint: hint(for: problem, lines: [line, context?.mark.line ?? line]),
            note: note)
    }

    private func hint(for problem: String, lines numbers: [Int]) -> String? {
        let texts = numbers.compactMap { file.lines.indices.contains($0 - 1) ? file.lines[$0 - 1] : nil }
        if texts.contains(where: FilterQuoting.concerns) { return FilterQuoting.hint }
        if problem.contains("cannot start any token") {
            let tabs = texts.contains { $0.contains("\t") }
            return tabs ? "indent with spaces: YAML does not allow tabs" : "put the value in quotes"
        }
        if problem.contains("mapping values are not allowed") {
            return "a value that holds \": \" needs quotes; or the line is indented too far"
        }
        if problem.contains("expected") { return "check the indentation, and that every quote and bracket is closed" }
        return nil
    }
}
