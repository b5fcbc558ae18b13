import Events

extension EventRows {
    /// Rows in the text format of COPY (postgresql.org/docs/current/sql-copy.html).
    /// - Parameter rows: nil: all.
    func copyText(_ rows: Range<Int>? = nil) -> [UInt8] {
        var output: [UInt8] = []
        if rows == nil { output.reserveCapacity(bytes.count + bytes.count / 8 + count * columns * 2) }
        for row in rows ?? 0..<count {
            for column in 0..<columns {
                if column > 0 { output.append(UInt8(ascii: "\t")) }
                if let cell = cell(row, column) {
                    Self.appendEscaped(bytes.span.extracting(cell), to: &output)
                } else {
                    output.append(UInt8(ascii: "\\"))
                    output.append(UInt8(ascii: "N"))
                }
            }
            output.append(UInt8(ascii: "\n"))
        }
        return output
    }

    private static func appendEscaped(_ text: Span<UInt8>, to output: inout [UInt8]) {
        var written = 0
        for index in 0..<text.count {
            let byte = text[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\\") else { continue }
            let escape: StaticString
            switch byte {
            case UInt8(ascii: "\\"): escape = "\\\\"
            case UInt8(ascii: "\n"): escape = "\\n"
            case UInt8(ascii: "\r"): escape = "\\r"
            case UInt8(ascii: "\t"): escape = "\\t"
            // PostgreSQL answers with its own reason.
            case 0: escape = "\\000"
            default: continue
            }
            output.append(contentsOf: text.extracting(written..<index))
            unsafe output.append(
                contentsOf: UnsafeBufferPointer(start: escape.utf8Start, count: escape.utf8CodeUnitCount))
            written = index + 1
        }
        output.append(contentsOf: text.extracting(written..<text.count))
    }
}
