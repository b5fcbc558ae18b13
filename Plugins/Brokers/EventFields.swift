import Events
import PenstockPluginKit

/// The fields of events that templates and keys use. Reads one event at a time; belongs to one thread at a time.
package final class EventFields {
    private var paths: [FieldPath] = []
    private var reader: PathReader?

    package init() {}

    /// Adds a path such as `userId`, `context.device.id` or `$.properties.plan`. Before the first `read`.
    /// - Returns: the field's number; nil if the path has an empty segment or too many.
    package func add(_ path: String) -> Int? {
        let text = path.hasPrefix("$.") ? path.dropFirst(2) : path[...]
        let segments = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard segments.allSatisfy({ !$0.isEmpty }), segments.count <= FieldPath.maximumSegments else { return nil }
        let field = FieldPath(segments)
        if let known = paths.firstIndex(of: field) { return known }
        paths.append(field)
        return paths.count - 1
    }

    package func read(_ json: Span<UInt8>) {
        if paths.isEmpty { return }
        let reader = self.reader ?? PathReader(PathSet(paths))
        self.reader = reader
        _ = reader.read(json)
    }

    /// Appends the text of a string, a number or a boolean.
    /// - Parameter json: the event that was read last.
    /// - Returns: false if the field is missing, null, an object or an array.
    package func append(_ field: Int, of json: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard let value = reader?[field] else { return false }
        switch value.type {
        case .string, .number, .true, .false: output.append(contentsOf: json.extracting(value.slice.range))
        case .escapedString: return JSONText.unescape(json.extracting(value.slice.range), into: &output)
        case .missing, .null, .array, .object: return false
        }
        return true
    }
}
