// EventTemplates: the fields of an event that the settings of a sink name. EventTemplate is a text with placeholders,
// such as the key of a stream or a topic. EventFields reads the fields, and FieldPath(written:) parses their paths.
//
//     events.{kind}.{properties.plan|free}
//
// A template is parsed once. Filling it in reads the event's bytes in place and copies only the values.
//
// It knows no protocol: a sink passes the function that replaces what its protocol does not allow in a value.

import Events
import PenstockPluginKit

/// A text with placeholders.
///
/// `{kind}` is the event's kind, such as `track`. `{event}`, `{userId}`, `{properties.plan}` are fields of the event. A
/// field that is missing, null, empty, an object or an array becomes the text after `|`, and `none` without one.
package struct EventTemplate: Sendable {
    /// What a template may begin with.
    package enum Beginning: Sendable {
        case anything
        /// Fixed text or `{kind}`. An event could otherwise choose any name, such as one that the server itself uses.
        case fixedTextOrKind
    }

    private enum Piece {
        case text([UInt8])
        case kind
        /// The field's number.
        case field(Int, missing: [UInt8])
    }

    private var pieces: [Piece] = []

    /// - Parameters:
    ///   - setting: the setting's name, for the error.
    ///   - fields: gets the fields that the template names.
    package init(
        _ text: String, setting: String, fields: EventFields, beginning: Beginning = .anything
    ) throws(SinkError) {
        func invalid(_ why: String) -> SinkError {
            SinkError(
                "settings.\(setting): \"\(text)\" \(why); write for example events.{kind} or"
                    + " events.{properties.plan|none}")
        }
        var rest = text[...]
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[brace] == "{" else { throw invalid("has a } without a {") }
            guard let close = rest[brace...].firstIndex(of: "}") else { throw invalid("has a { without a }") }
            add(rest[..<brace])
            let inside = rest[rest.index(after: brace)..<close]
            guard let piece = Self.placeholder(inside, fields) else {
                throw invalid("has {\(inside)}, which is not the path of a field")
            }
            if case .field = piece, pieces.isEmpty, beginning == .fixedTextOrKind {
                throw invalid("must begin with fixed text or {kind}, not with {\(inside)}")
            }
            pieces.append(piece)
            rest = rest[rest.index(after: close)...]
        }
        add(rest)
        if pieces.isEmpty { throw invalid("is empty") }
    }

    /// Whether it has no placeholders: the text is the same for every event.
    package var isFixed: Bool {
        pieces.allSatisfy { if case .text = $0 { true } else { false } }
    }

    /// The fixed texts between the placeholders.
    package var fixedTexts: [String] {
        pieces.compactMap { if case .text(let text) = $0 { String(decoding: text, as: UTF8.self) } else { nil } }
    }

    /// The template with `placeholder` for each placeholder.
    package func text(placeholder: String) -> String {
        pieces.map { if case .text(let text) = $0 { String(decoding: text, as: UTF8.self) } else { placeholder } }
            .joined()
    }

    /// Appends the text for one event.
    /// - Parameters:
    ///   - kind: the event's kind.
    ///   - payload: the event that `fields` has read last.
    ///   - encode: appends a value, or the text in place of a missing one. It may replace characters.
    package func append(
        kind: String, _ payload: Span<UInt8>, _ fields: EventFields, to output: inout [UInt8],
        encode: (Span<UInt8>, inout [UInt8]) -> Void
    ) {
        for piece in pieces {
            switch piece {
            case .text(let text): output += text
            case .kind: encode(kind.utf8.span, &output)
            case .field(let field, let missing):
                var value: [UInt8] = []
                if !fields[field].appendText(from: payload, to: &value) || value.isEmpty { value = missing }
                encode(value.span, &output)
            }
        }
    }

    /// Appends the text for one event, with '_' in place of each byte of a value that is not safe.
    package func append(
        kind: String, _ payload: Span<UInt8>, _ fields: EventFields, to output: inout [UInt8],
        isSafe: (UInt8) -> Bool
    ) {
        append(kind: kind, payload, fields, to: &output) { value, output in
            for index in 0..<value.count { output.append(isSafe(value[index]) ? value[index] : UInt8(ascii: "_")) }
        }
    }

    private mutating func add(_ text: Substring) {
        if !text.isEmpty { pieces.append(.text(Array(text.utf8))) }
    }

    /// - Parameter inside: the text between the braces.
    private static func placeholder(_ inside: Substring, _ fields: EventFields) -> Piece? {
        let halves = inside.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        let missing = halves.count > 1 ? String(halves[1]) : "none"
        guard !missing.isEmpty, !inside.contains("{") else { return nil }
        if halves[0] == "kind" { return .kind }
        guard let path = FieldPath(written: halves[0]) else { return nil }
        return .field(fields.add(path), missing: Array(missing.utf8))
    }
}
