import Events
import PenstockPluginKit

/// Reads the columns' values from events. Belongs to one thread.
final class EventEncoder {
    private let columns: [Column]
    private let reader: PathReader
    /// The index in the reader's paths of each column's path.
    private let paths: [Int]
    private let rest = RemainingFields(without: Column.standardFields)
    private let replacesNullCharacters: Bool

    init(_ columns: [Column], replacesNullCharacters: Bool) {
        self.columns = columns
        self.replacesNullCharacters = replacesNullCharacters
        var all: [FieldPath] = []
        paths = columns.map { column in
            guard let path = column.path else { return -1 }
            all.append(path)
            return all.count - 1
        }
        reader = PathReader(PathSet(all))
    }

    /// - Returns: the rows, and the reason for each event that can be no row, by index in the batch.
    func encode(_ batch: Batch) -> (rows: EventRows, rejected: [Int: String]) {
        var size = 0
        for event in batch { unsafe event.withUnsafePayload { size += $0.count } }
        var rows = EventRows(columns: columns.count, expectedRows: batch.count, expectedBytes: size + batch.count * 128)
        var rejected: [Int: String] = [:]
        for (index, event) in batch.enumerated() {
            if let reason = append(event, to: &rows) {
                rows.dropRow()
                rejected[index] = reason
            } else {
                rows.endRow(event: index)
            }
        }
        return (rows, rejected)
    }

    /// - Returns: why the event can be no row; nil: its cells are appended.
    private func append(_ event: Event, to rows: inout EventRows) -> String? {
        guard let position = Int64(exactly: event.position), let part = Int32(exactly: event.part) else {
            return "its position is larger than PostgreSQL's integers"
        }
        return event.withPayload { json in
            let hasNull = NullCharacters.occur(in: json)
            if hasNull, replacesNullCharacters {
                return append(event, position, part, NullCharacters.replaced(in: json).span, to: &rows)
            }
            return append(event, position, part, json, hasNull: hasNull, to: &rows)
        }
    }

    private func append(
        _ event: Event, _ position: Int64, _ part: Int32, _ json: Span<UInt8>, hasNull: Bool = false,
        to rows: inout EventRows
    ) -> String? {
        guard reader.read(json) != .unreadable else { return "its payload is not JSON" }
        for (column, path) in zip(columns, paths) {
            let value = path < 0 ? .missing : reader[path]
            let isAbsent = value.type == .missing || value.type == .null
            var isValid = true
            switch column.source {
            case .position: rows.append("\(position)")
            case .part: rows.append("\(part)")
            case .receivedAt: append(time: event.receivedAt, to: &rows)
            case .kind: rows.append(event.kindName)
            case .payload: rows.append(json)
            case .rest:
                let rest = rest
                if !rows.append({ bytes in rest.append(json, to: &bytes) }) { rows.appendNull() }
            case .timestamp where isAbsent: append(time: event.receivedAt, to: &rows)
            case .messageID where isAbsent: isValid = append(messageID: event, to: &rows)
            case .path where isAbsent: rows.appendNull()
            case .timestamp, .messageID, .path: isValid = append(value, json, column, to: &rows)
            }
            if !isValid { return "\(column.name): the text has an invalid escape" }
            if hasNull, Self.hasNull(rows.bytes.span.extracting(rows.lastCell), column) {
                return """
                    \(column.name): contains U+0000, which PostgreSQL cannot store; the setting null_characters: \
                    replace stores U+FFFD instead
                    """
            }
        }
        return nil
    }

    /// - Returns: false if an escape is invalid.
    private func append(_ value: FieldValue, _ json: Span<UInt8>, _ column: Column, to rows: inout EventRows) -> Bool {
        let text = json.extracting(value.slice.range)
        switch value.type {
        case _ where column.type == .jsonb:
            guard let range = value.json else { return false }
            rows.append(json.extracting(range))
        case .escapedString: return rows.append { bytes in JSONText.unescape(text, into: &bytes) }
        case .number where column.type == .bigint || column.type == .integer:
            // 12.0 and 1.2e1 are the integer 12.
            if case .real(let number)? = JSONNumber(text), abs(number) <= 0x1p53, let integer = Int64(exactly: number) {
                rows.append("\(integer)")
            } else {
                rows.append(text)
            }
        default: rows.append(text)
        }
        return true
    }

    private static func hasNull(_ cell: Span<UInt8>, _ column: Column) -> Bool {
        column.type == .jsonb || column.source == .rest
            ? NullCharacters.occur(in: cell) : cell.firstIndex(of: 0, in: 0..<cell.count) != nil
    }

    private func append(messageID event: Event, to rows: inout EventRows) -> Bool {
        unsafe event.withUnsafeMessageID { id in
            let contents = unsafe id.bindMemory(to: UInt8.self).span
            guard !contents.isEmpty else {
                rows.appendNull()
                return true
            }
            if replacesNullCharacters, NullCharacters.occur(in: contents) {
                let replaced = NullCharacters.replaced(in: contents)
                return rows.append { bytes in JSONText.unescape(replaced.span, into: &bytes) }
            }
            return rows.append { bytes in JSONText.unescape(contents, into: &bytes) }
        }
    }

    private func append(time nanoseconds: Int64, to rows: inout EventRows) {
        // PostgreSQL has microseconds, and would round.
        let (quotient, remainder) = nanoseconds.quotientAndRemainder(dividingBy: 1000)
        let microseconds = remainder < 0 ? quotient - 1 : quotient
        rows.append { bytes in
            Timestamp.append(microseconds.multipliedReportingOverflow(by: 1000).partialValue, to: &bytes)
            return true
        }
    }
}
