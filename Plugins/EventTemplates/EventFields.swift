import Events

/// The fields of events that a sink's templates and settings name. One pass over an event's bytes reads them all.
/// Belongs to one thread at a time.
package final class EventFields {
    private var paths: [FieldPath] = []
    private var reader: PathReader?

    package init() {}

    /// Adds a field. Before the first `read`.
    /// - Returns: the field's number.
    package func add(_ path: FieldPath) -> Int {
        precondition(reader == nil, "a field was added after an event was read")
        if let known = paths.firstIndex(of: path) { return known }
        paths.append(path)
        return paths.count - 1
    }

    /// Reads an event. Every field of a payload that is no JSON is missing.
    package func read(_ payload: Span<UInt8>) {
        if paths.isEmpty { return }
        let reader = self.reader ?? PathReader(PathSet(paths))
        self.reader = reader
        _ = reader.read(payload)
    }

    /// The field's value in the event that was read last.
    package subscript(field: Int) -> FieldValue { reader?[field] ?? .missing }
}

extension FieldValue {
    /// Appends the value as text: a string without its quotes and escapes, a number or Boolean as it is written.
    /// - Parameter payload: the bytes that the value was read from.
    /// - Returns: false if the value is missing, null, an object or an array; nothing is appended then.
    package func appendText(from payload: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        switch type {
        case .string, .number, .true, .false:
            output.append(contentsOf: payload.extracting(slice.range))
            return true
        case .escapedString: return JSONText.unescape(payload.extracting(slice.range), into: &output)
        case .missing, .null, .array, .object: return false
        }
    }

    /// As `appendText`, as a String; nil for a value without a text.
    package func text(from payload: Span<UInt8>) -> String? {
        var bytes: [UInt8] = []
        guard appendText(from: payload, to: &bytes) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
