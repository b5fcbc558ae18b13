/// Finds the place in the file of a character of a scalar's value, so that an error in a filter is shown at its exact
/// column, whether the filter is plain, quoted or a block.
///
/// It walks the value and the file's text in parallel. If they do not match as expected (an unforeseen case), it
/// returns the place of the whole scalar.
package struct ScalarPlaces {
    private let scalar: YAMLScalar
    private let value: [Unicode.Scalar]
    private let lines: [[Unicode.Scalar]]
    private var raw: [Unicode.Scalar] = []
    private var line: Int
    private var column: Int
    /// For each character of the value and its end.
    private var found: [YAMLPosition] = []

    /// - Parameter offset: into the value, in Unicode scalars, from 0. An offset past the end means the end.
    package static func place(of offset: Int, length: Int, in node: YAMLNode) -> Place {
        guard let scalar = node.scalar else { return node.place }
        var walk = ScalarPlaces(scalar, node.file)
        guard walk.run(), let last = walk.found.indices.last else { return node.place }
        let start = walk.found[max(0, min(offset, last))]
        let (behind, overflow) = offset.addingReportingOverflow(max(1, length))
        let end = walk.found[max(0, min(overflow ? last : behind, last))]
        let shown = end.line == start.line && end.column > start.column ? end.column - start.column : 1
        return node.file.place(line: start.line, column: start.column, length: shown)
    }

    /// For each line of the value, the line of the file in which it begins.
    package static func lines(of node: YAMLNode) -> [Int] {
        guard let scalar = node.scalar else { return [node.place.line] }
        var walk = ScalarPlaces(scalar, node.file)
        let starts = [0] + walk.value.indices.filter { walk.value[$0] == "\n" }.map { $0 + 1 }
        guard walk.run(), walk.found.count > walk.value.count else { return starts.map { _ in node.place.line } }
        return starts.map { walk.found[$0].line }
    }

    private init(_ scalar: YAMLScalar, _ file: ConfigurationFile) {
        self.scalar = scalar
        value = Array(scalar.text.unicodeScalars)
        lines = file.scalars
        line = scalar.line
        column = scalar.column - 1
        found.reserveCapacity(value.count + 1)
    }

    private mutating func run() -> Bool {
        guard enter(line) else { return false }
        switch scalar.style {
        case .plain: return flow()
        case .singleQuoted, .doubleQuoted:
            column += 1
            return flow()
        case .literal, .folded: return block()
        }
    }

    private mutating func enter(_ number: Int) -> Bool {
        guard lines.indices.contains(number - 1) else { return false }
        line = number
        raw = lines[number - 1]
        return true
    }

    private var here: YAMLPosition { YAMLPosition(line: line, column: column + 1) }

    /// Plain and quoted scalars: a line end with the white space around it folds to one space, or to a line feed for
    /// each empty line.
    private mutating func flow() -> Bool {
        while found.count < value.count {
            if raw[min(column, raw.count)...].allSatisfy({ $0 == " " || $0 == "\t" }) || startsComment() {
                guard fold() else { return false }
            } else if scalar.style == .doubleQuoted, raw[column] == "\\" {
                guard column + 1 < raw.count else {
                    // An escaped line end produces no character.
                    guard enter(line + 1) else { return false }
                    column = indentation
                    continue
                }
                let digits = ["x": 2, "u": 4, "U": 8][raw[column + 1]] ?? 0
                found.append(here)
                column += 2 + digits
            } else {
                guard raw[column] == value[found.count] else { return false }
                found.append(here)
                column += scalar.style == .singleQuoted && raw[column] == "'" ? 2 : 1
            }
        }
        found.append(here)
        return true
    }

    private func startsComment() -> Bool {
        scalar.style == .plain && raw[column] == "#" && column > 0 && raw[column - 1] == " "
    }

    private mutating func fold() -> Bool {
        let end = here
        var empty = 0
        repeat {
            guard enter(line + 1) else { return false }
            column = indentation
            if column == raw.count { empty += 1 }
        } while column == raw.count
        for _ in 0..<max(1, empty) {
            guard found.count < value.count, value[found.count] == (empty == 0 ? " " : "\n") else { return false }
            found.append(end)
        }
        return true
    }

    private var indentation: Int { raw.prefix { $0 == " " || $0 == "\t" }.count }

    /// Literal and folded blocks: whole lines, without their common indentation.
    private mutating func block() -> Bool {
        var number = line + 1
        while lines.indices.contains(number - 1), lines[number - 1].allSatisfy({ $0 == " " }) { number += 1 }
        guard enter(number) else { return false }
        // If the first line is indented more than the block (which a digit such as `|2` announces), the value keeps the
        // extra indentation.
        let first = value.split(separator: "\n").first { !$0.allSatisfy { $0 == " " } } ?? []
        let indent = max(0, raw.prefix { $0 == " " }.count - first.prefix { $0 == " " }.count)
        guard enter(scalar.line + 1) else { return false }
        while found.count < value.count {
            column = indent
            while column < raw.count, found.count < value.count {
                guard raw[column] == value[found.count] else { return false }
                found.append(here)
                column += 1
            }
            guard found.count < value.count else { break }
            // A line end yields a line feed, a space, or (before empty lines of a folded block) nothing.
            let next = value[found.count]
            if next == "\n" || (next == " " && scalar.style == .folded) {
                found.append(here)
            } else if scalar.style == .literal {
                return false
            }
            guard enter(line + 1) else { break }
        }
        guard found.count == value.count else { return false }
        found.append(here)
        return true
    }
}
