import Platform

/// A text table. Each column is as wide as its widest cell.
package struct TextTable {
    private let rightAligned: [Bool]
    private var rows: [[String]]

    /// - Parameter titles: `>` in front of a title aligns the column to the right.
    package init(_ titles: String...) {
        rightAligned = titles.map { $0.hasPrefix(">") }
        rows = [titles.map { $0.hasPrefix(">") ? String($0.dropFirst()) : $0 }]
    }

    /// Adds a row. Missing cells are empty.
    package mutating func add(_ cells: String...) {
        let missing = max(rightAligned.count - cells.count, 0)
        rows.append(
            cells.prefix(rightAligned.count).map(\.withControlCharactersEscaped) + Array(repeating: "", count: missing))
    }

    /// - Parameter style: receives the column and the padded cell, for every row except the titles.
    package func render(style: (Int, String) -> String = { $1 }) -> String {
        let widths = rightAligned.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        var text = ""
        for (number, row) in rows.enumerated() {
            var line = ""
            // Leave out trailing empty cells.
            let last = row.lastIndex { !$0.isEmpty } ?? 0
            for column in 0...last {
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                var cell = rightAligned[column] ? padding + row[column] : row[column]
                if !rightAligned[column] && column < last { cell += padding }
                line += (column > 0 ? "  " : "") + (number > 0 ? style(column, cell) : cell)
            }
            text += line + "\n"
        }
        return text
    }
}
