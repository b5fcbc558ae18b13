import Platform

/// Rows of cells, padded so that the columns align.
struct AlignedRows {
    private var rows: [[(text: String, colour: ANSIStyle.Colour?)]] = []
    /// Wider cells do not count for the width of their column.
    private let widest: Int

    init(widest: Int = 48) { self.widest = widest }

    mutating func add(_ cells: (String, ANSIStyle.Colour?)...) {
        rows.append(cells.map { ($0.0, $0.1) })
    }

    func lines(_ style: ANSIStyle) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.compactMap { $0.count > column + 1 ? $0[column].text.count : nil }.filter { $0 <= widest }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let padding = column < row.count - 1 ? max(0, widths[column] - cell.text.count) + 2 : 0
                return style(cell.text, cell.colour) + String(repeating: " ", count: padding)
            }.joined()
        }
    }
}
