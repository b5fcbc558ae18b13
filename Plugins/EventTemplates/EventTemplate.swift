// EventTemplates: texts with placeholders, which sinks fill in for each event: the key of a stream, a topic.
//
//     events.{kind}.{properties.plan|none}
//
// A template is parsed once. Filling it in reads the event's bytes in place and copies only the values.

import Events

/// A text with placeholders.
///
/// `{kind}` is the event's kind, such as `track`. `{event}`, `{userId}`, `{properties.plan}` are fields of the event:
/// names with a `.` between them, after an optional `$.`. A field that is missing, null, empty, an object or an array
/// becomes the text after `|`, and `none` without one.
package struct EventTemplate: Sendable {
    /// Why a text is not a template.
    package struct Invalid: Error, CustomStringConvertible {
        package var description: String
    }

    private enum Piece {
        case text([UInt8])
        case kind
        /// The path's index in the reader's set.
        case field(Int, missing: [UInt8])
    }

    private var pieces: [Piece] = []

    /// Whether it has no placeholders: the text is the same for every event.
    package var isFixed: Bool {
        pieces.allSatisfy { if case .text = $0 { true } else { false } }
    }

    /// - Parameter paths: the paths that the template reads are appended to it. The reader for `append` reads all of
    ///   them, in this order.
    package init(_ text: String, paths: inout [FieldPath]) throws(Invalid) {
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw Invalid(description: "\"\(text)\" has a { without a }")
            }
            try add(rest[..<open], of: text)
            pieces.append(try Self.placeholder(rest[rest.index(after: open)..<close], of: text, &paths))
            rest = rest[rest.index(after: close)...]
        }
        try add(rest, of: text)
    }

    private mutating func add(_ part: Substring, of text: String) throws(Invalid) {
        guard !part.contains("}") else { throw Invalid(description: "\"\(text)\" has a } without a {") }
        if !part.isEmpty { pieces.append(.text(Array(part.utf8))) }
    }

    private static func placeholder(
        _ inside: Substring, of text: String, _ paths: inout [FieldPath]
    ) throws(Invalid) -> Piece {
        let halves = inside.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        let missing = halves.count > 1 ? String(halves[1]) : "none"
        var name = halves[0]
        if name == "kind" { return .kind }
        if name.hasPrefix("$.") { name = name.dropFirst(2) }
        let segments = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard segments.allSatisfy({ !$0.isEmpty }), !missing.isEmpty,
            segments.count <= FieldPath.maximumSegments, !inside.contains("{")
        else {
            throw Invalid(
                description:
                    "{\(inside)} in \"\(text)\" is not a placeholder: use one such as {event}, {properties.plan}"
                    + " or {properties.plan|none}")
        }
        paths.append(FieldPath(segments))
        return .field(paths.count - 1, missing: Array(missing.utf8))
    }

    /// Appends the text for one event.
    /// - Parameters:
    ///   - kind: the event's kind.
    ///   - payload: the event that `reader` has read last.
    ///   - encode: appends a value; it may replace characters.
    package func append(
        kind: String, _ payload: Span<UInt8>, _ reader: PathReader, to output: inout [UInt8],
        encode: (Span<UInt8>, inout [UInt8]) -> Void
    ) {
        for piece in pieces {
            switch piece {
            case .text(let text): output += text
            case .kind: encode(kind.utf8.span, &output)
            case .field(let index, let missing):
                var value: [UInt8] = []
                if !reader[index].appendText(from: payload, to: &value) || value.isEmpty { value = missing }
                encode(value.span, &output)
            }
        }
    }
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
