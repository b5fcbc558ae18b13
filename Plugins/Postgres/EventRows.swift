import Events

/// The rows of a batch as texts, which PostgreSQL parses: one cell for each column of each row, in one buffer.
struct EventRows {
    private struct Cell {
        var start: Int
        /// -1: NULL.
        var count: Int
    }

    let columns: Int
    /// The event of each row, as its index in the batch.
    private(set) var events: [Int] = []
    private(set) var bytes: [UInt8] = []
    private var cells: [Cell] = []

    init(columns: Int, expectedRows: Int, expectedBytes: Int) {
        self.columns = columns
        events.reserveCapacity(expectedRows)
        cells.reserveCapacity(expectedRows * columns)
        bytes.reserveCapacity(expectedBytes)
    }

    var count: Int { events.count }

    mutating func appendNull() { cells.append(Cell(start: bytes.count, count: -1)) }

    /// Appends a cell with what the body appends to the buffer.
    /// - Returns: the body's result. If it is false, there is no cell.
    @discardableResult
    mutating func append(_ body: (inout [UInt8]) -> Bool) -> Bool {
        let start = bytes.count
        guard body(&bytes) else { return false }
        cells.append(Cell(start: start, count: bytes.count - start))
        return true
    }

    mutating func append(_ text: String) {
        append { bytes in
            bytes.append(contentsOf: text.utf8)
            return true
        }
    }

    mutating func append(_ text: Span<UInt8>) {
        let start = bytes.count
        bytes.append(contentsOf: text)
        cells.append(Cell(start: start, count: text.count))
    }

    /// Ends a row, which has a cell for each column.
    mutating func endRow(event: Int) {
        events.append(event)
        precondition(cells.count == events.count * columns, "a row has a cell for each column")
    }

    /// Removes the cells of a row that was not ended.
    mutating func dropRow() { cells.removeLast(cells.count - events.count * columns) }

    /// The bytes of the cell that was appended last; empty for NULL.
    var lastCell: Range<Int> { cells.last.map { $0.start..<$0.start + max($0.count, 0) } ?? 0..<0 }

    /// The cell's bytes in `bytes`; nil: NULL.
    func cell(_ row: Int, _ column: Int) -> Range<Int>? {
        let cell = cells[row * columns + column]
        return cell.count < 0 ? nil : cell.start..<cell.start + cell.count
    }
}
