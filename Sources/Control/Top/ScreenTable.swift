import Platform

/// A table that fits a terminal: it leaves out the least important columns, and cuts the last one.
struct ScreenTable {
    struct Column {
        var title: String
        var alignsRight = false
        /// The columns with the highest numbers are left out first. Column 0 stays.
        var importance: Int
        /// The most columns of the terminal that it takes.
        var longest = 24
    }

    struct Cell {
        var text: String
        var style = ScreenLine.Style.plain
    }

    private let columns: [Column]
    private var rows: [(cells: [Cell], isSelected: Bool)] = []

    init(_ columns: [Column]) { self.columns = columns }

    /// - Parameter cells: one for each column.
    mutating func add(_ cells: [Cell], isSelected: Bool) {
        let safe = cells.map { Cell(text: $0.text.withControlCharactersEscaped, style: $0.style) }
        rows.append((safe, isSelected))
    }

    /// The title and the rows.
    func lines(width: Int) -> [ScreenLine] {
        var widths = columns.indices.map { column in
            let longest =
                ([columns[column].title] + rows.map { $0.cells[column].text }).map(ScreenText.columns).max() ?? 0
            return min(longest, columns[column].longest)
        }
        var shown = Array(columns.indices)
        // The last column may be cut to a few characters.
        func needed() -> Int {
            let last = columns.count - 1
            return shown.reduce(0) { $0 + (($1 == last && $1 != 0) ? min(widths[$1], 12) : widths[$1]) + 2 } - 2
        }
        while shown.count > 1, needed() > width {
            guard let least = shown.dropFirst().max(by: { columns[$0].importance < columns[$1].importance }) else {
                break
            }
            shown.removeAll { $0 == least }
        }
        if let last = shown.last {
            let others = shown.dropLast().reduce(0) { $0 + widths[$1] + 2 }
            if last == columns.count - 1 {
                widths[last] = max(0, width - others)
            } else {
                widths[last] = min(widths[last], max(0, width - others))
            }
        }
        var title = ScreenLine()
        for (place, column) in shown.enumerated() {
            title.add(
                (place > 0 ? "  " : "")
                    + ScreenText.fit(columns[column].title, widths[column], alignsRight: columns[column].alignsRight),
                .title)
        }
        return [title]
            + rows.map { row in
                var line = ScreenLine()
                line.isSelected = row.isSelected
                for (place, column) in shown.enumerated() {
                    if place > 0 { line.add("  ") }
                    line.add(
                        ScreenText.fit(
                            row.cells[column].text, widths[column], alignsRight: columns[column].alignsRight),
                        row.cells[column].style)
                }
                return line
            }
    }
}
