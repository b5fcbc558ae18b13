import Events

/// Writes events as rows of CSV (RFC 4180). Each row ends with a line feed.
///
/// - A value is quoted if it is empty, begins or ends with white space, or contains a comma, a quote, a line feed or a
///   carriage return. Quotes in it are doubled.
/// - Numbers keep their digits, booleans are `true` and `false`, and lists and objects are JSON.
/// - A null or missing field is written as nothing; an empty string as `""`.
/// - Strings are not altered: a spreadsheet program may evaluate `=1+1` as a formula.
final class CSVRows {
    let header: [UInt8]
    private let fields: PathReader
    private let columns: Int
    private var text: [UInt8] = []

    init(_ columns: [String]) {
        self.columns = columns.count
        fields = PathReader(PathSet(columns.map { FieldPath([$0]) }))
        var header: [UInt8] = []
        for (number, column) in columns.enumerated() {
            if number > 0 { header.append(UInt8(ascii: ",")) }
            Self.append(column.utf8.span, to: &header)
        }
        header.append(UInt8(ascii: "\n"))
        self.header = header
    }

    /// Appends the row of one event.
    func append(_ json: Span<UInt8>, to output: inout [UInt8]) {
        _ = fields.read(json)
        for number in 0..<columns {
            let value = fields[number]
            if number > 0 { output.append(UInt8(ascii: ",")) }
            let contents = json.extracting(value.slice.isPresent ? value.slice.range : 0..<0)
            switch value.type {
            case .missing, .null: break
            case .number, .true, .false: output.append(contentsOf: contents)
            case .string, .array, .object: Self.append(contents, to: &output)
            case .escapedString:
                text.removeAll(keepingCapacity: true)
                // An escape that can't be decoded stays as it is.
                if JSONText.unescape(contents, into: &text) {
                    Self.append(text.span, to: &output)
                } else {
                    Self.append(contents, to: &output)
                }
            }
        }
        output.append(UInt8(ascii: "\n"))
    }

    private static func append(_ value: Span<UInt8>, to output: inout [UInt8]) {
        guard needsQuotes(value) else { return output.append(contentsOf: value) }
        output.append(UInt8(ascii: "\""))
        for position in 0..<value.count {
            if value[position] == UInt8(ascii: "\"") { output.append(UInt8(ascii: "\"")) }
            output.append(value[position])
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func needsQuotes(_ value: Span<UInt8>) -> Bool {
        guard value.count > 0, value[0] > 0x20, value[value.count - 1] > 0x20 else { return true }
        for position in 0..<value.count {
            switch value[position] {
            case UInt8(ascii: ","), UInt8(ascii: "\""), 0x0A, 0x0D: return true
            default: break
            }
        }
        return false
    }
}
