import Events

extension EventRows {
    /// The columns of some rows as binary arrays of the type text[], the parameters of a statement.
    func textArrays(_ rows: Range<Int>) -> [[UInt8]] {
        (0..<columns).map { column in
            var array: [UInt8] = []
            let hasNull = rows.contains { cell($0, column) == nil }
            // One dimension, whether there are NULLs, the elements' type; the dimension's length and lower bound.
            for word in [1, hasNull ? 1 : 0, Self.textType, Int32(rows.count), 1] { Self.append(word, to: &array) }
            for row in rows {
                guard let cell = cell(row, column) else {
                    Self.append(-1, to: &array)
                    continue
                }
                Self.append(Int32(clamping: cell.count), to: &array)
                array.append(contentsOf: bytes.span.extracting(cell))
            }
            return array
        }
    }

    private static let textType: Int32 = 25

    private static func append(_ value: Int32, to array: inout [UInt8]) {
        for shift in [24, 16, 8, 0] as [Int32] { array.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}
