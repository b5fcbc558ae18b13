import Yams

/// Converts Yams' tree to `YAMLNode`s. Aliases become copies, merge keys (`<<`) are applied, and keys are unique texts.
/// Size and depth are bounded.
struct YAMLExpansion {
    static let maximumNodes = 100_000
    static let maximumDepth = 64
    static let tooDeep = "nested deeper than \(maximumDepth) levels"

    let file: ConfigurationFile
    let diagnostics: Diagnostics
    /// Keys that were renamed to get past Yams, by position.
    let renamed: [YAMLPosition: String]
    private var nodes = 0

    init(file: ConfigurationFile, diagnostics: Diagnostics, renamed: [YAMLPosition: String]) {
        self.file = file
        self.diagnostics = diagnostics
        self.renamed = renamed
    }

    mutating func expand(_ root: Node) -> YAMLNode? {
        expand(root, depth: 0, fallback: file.place(line: 1, column: 1))
    }

    private mutating func expand(_ node: Node, depth: Int, fallback: Place) -> YAMLNode? {
        nodes += 1
        guard nodes <= Self.maximumNodes else {
            // Reported once. All later nodes are left out.
            if nodes == Self.maximumNodes + 1 {
                diagnostics.error(
                    at: fallback, "the aliases of this file expand to more than \(Self.maximumNodes) values",
                    hint: "use fewer aliases inside what other aliases name")
            }
            return nil
        }
        guard depth <= Self.maximumDepth else {
            diagnostics.error(at: fallback, Self.tooDeep)
            return nil
        }
        switch node {
        case .scalar(let scalar):
            return expand(scalar, fallback: fallback)
        case .sequence(let sequence):
            let place = place(sequence.mark, fallback)
            check(tag: sequence.tag.rawValue, at: place)
            var items: [YAMLNode] = []
            for item in sequence {
                guard let item = expand(item, depth: depth + 1, fallback: place) else { continue }
                items.append(item)
            }
            return YAMLNode(content: .list(items), place: place, file: file)
        case .mapping(let mapping):
            let place = place(mapping.mark, fallback)
            check(tag: mapping.tag.rawValue, at: place)
            return YAMLNode(content: .map(entries(mapping, depth: depth, place: place)), place: place, file: file)
        case .alias:
            // Yams' parser replaces an alias with its node. Only its encoder uses this case.
            return nil
        }
    }

    private mutating func entries(_ mapping: Node.Mapping, depth: Int, place: Place) -> [YAMLEntry] {
        var entries: [YAMLEntry] = []
        var seen: [String: Place] = [:]
        var merged: [YAMLEntry] = []
        for (key, value) in mapping {
            var key = key
            if case .scalar(let scalar) = key, let mark = scalar.mark,
                let original = renamed[YAMLPosition(line: mark.line, column: mark.column)]
            {
                key = .scalar(.init(original, scalar.tag, scalar.style, mark))
            }
            guard let name = expand(key, depth: depth + 1, fallback: place) else { continue }
            guard let scalar = name.scalar, !scalar.isSecret else {
                diagnostics.error(at: name.place, "a key must be plain text", hint: "put it in quotes")
                continue
            }
            let text = scalar.text
            let keyPlace = name.place
            guard let value = expand(value, depth: depth + 1, fallback: keyPlace) else { continue }
            if text == "<<", scalar.style == .plain {
                merged += mergeSources(value)
                continue
            }
            if let first = seen[text] {
                diagnostics.error(
                    at: keyPlace, "\(quoted(text)) is set twice", hint: "remove one of the two",
                    note: .init("it was set first here", at: first))
                continue
            }
            seen[text] = keyPlace
            entries.append(YAMLEntry(key: text, place: keyPlace, value: value))
        }
        // The map's own keys take precedence. Among merged maps, the first that has a key does.
        for entry in merged where seen[entry.key] == nil {
            seen[entry.key] = entry.place
            entries.append(entry)
        }
        return entries
    }

    private func mergeSources(_ value: YAMLNode) -> [YAMLEntry] {
        switch value.content {
        case .map(let entries): return entries
        case .list(let items) where items.allSatisfy({ if case .map = $0.content { true } else { false } }):
            return items.flatMap { $0.entries ?? [] }
        default:
            diagnostics.error(
                at: value.place, "<< merges a map, or a list of maps; found \(value.found)",
                hint: "name a map: <<: *anchor")
            return []
        }
    }

    private func expand(_ scalar: Node.Scalar, fallback: Place) -> YAMLNode {
        let mark =
            scalar.mark.map { YAMLPosition(line: $0.line, column: $0.column) }
            ?? YAMLPosition(line: fallback.line, column: fallback.column)
        let line = file.scalars.indices.contains(mark.line - 1) ? file.scalars[mark.line - 1] : []
        let start = YAMLPosition.skipProperties(line, from: max(0, mark.column - 1))
        let tag = scalar.tag.rawValue
        let style = Self.style(scalar.style)
        var value = YAMLScalar(
            text: scalar.string, style: style, isSecret: tag == "!secret", line: mark.line, column: start + 1)
        if !value.isSecret, Self.isUnknown(tag) {
            value.isReported = true
            let length = max(1, line.dropFirst(max(0, mark.column - 1)).prefix { $0 != " " && $0 != "\t" }.count)
            let place = file.place(line: mark.line, column: mark.column, length: length)
            check(tag: tag, at: place)
            return YAMLNode(content: .scalar(value), place: place, file: file)
        }
        // The place of an empty value is not useful.
        if value.isNull, value.text.isEmpty { return YAMLNode(content: .scalar(value), place: fallback, file: file) }
        let end = Self.end(of: value, in: line, from: start)
        let place = file.place(line: mark.line, column: mark.column, length: end - (mark.column - 1))
        // `!!str 5` is text.
        if style == .plain, tag == Tag.Name.str.rawValue, line.indices.contains(mark.column - 1),
            line[mark.column - 1] == "!"
        {
            value.style = .doubleQuoted
        }
        return YAMLNode(content: .scalar(value), place: place, file: file)
    }

    private static func isUnknown(_ tag: String) -> Bool {
        !tag.isEmpty && tag != "!" && !tag.hasPrefix("tag:yaml.org,2002:")
    }

    private func check(tag: String, at place: Place) {
        guard Self.isUnknown(tag) else { return }
        diagnostics.error(
            at: place, "unknown tag \(quoted(tag))",
            hint: FilterQuoting.concerns(place.text) ? FilterQuoting.hint : "the only tag is !secret NAME")
    }

    private func place(_ mark: Mark?, _ fallback: Place) -> Place {
        guard let mark else { return fallback }
        return file.place(line: mark.line, column: mark.column)
    }

    /// The column (from 0) after the part of the scalar on its first line.
    private static func end(of scalar: YAMLScalar, in line: [Unicode.Scalar], from start: Int) -> Int {
        guard start < line.count else { return start + 1 }
        let text = Array(scalar.text.unicodeScalars)
        switch scalar.style {
        case .plain:
            if start + text.count <= line.count, Array(line[start..<start + text.count]) == text {
                return start + text.count
            }
            return line.count
        case .literal, .folded:
            return start + 1
        case .singleQuoted, .doubleQuoted:
            let quote: Unicode.Scalar = scalar.style == .singleQuoted ? "'" : "\""
            var index = start + 1
            while index < line.count {
                if scalar.style == .doubleQuoted, line[index] == "\\" {
                    index += 2
                } else if line[index] == quote {
                    if quote == "'", index + 1 < line.count, line[index + 1] == "'" {
                        index += 2
                    } else {
                        return index + 1
                    }
                } else {
                    index += 1
                }
            }
            return line.count
        }
    }

    private static func style(_ style: Node.Scalar.Style) -> YAMLScalar.Style {
        switch style {
        case .any, .plain: .plain
        case .singleQuoted: .singleQuoted
        case .doubleQuoted: .doubleQuoted
        case .literal: .literal
        case .folded: .folded
        }
    }
}
