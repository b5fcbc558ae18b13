import PenstockPluginKit

/// A text with placeholders, which an event fills: `events.{kind}.{event}`. `{kind}` is the kind of the event, anything
/// else the path of a field.
package struct EventTemplate {
    private enum Part {
        case text([UInt8])
        case kind
        case field(Int)
    }

    private var parts: [Part] = []

    /// - Parameters:
    ///   - setting: the setting's name, for the error.
    ///   - fields: gets the paths of the fields.
    package init(_ text: String, setting: String, fields: EventFields) throws(SinkError) {
        func invalid(_ why: String) -> SinkError {
            SinkError("settings.\(setting): \(why); write for example events.{kind} or events.{properties.plan}")
        }
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}") else {
                throw invalid(
                    "'\(rest[open])' at character \(text.distance(from: text.startIndex, to: open) + 1) "
                        + "has no counterpart")
            }
            add(rest[..<open])
            let name = String(rest[rest.index(after: open)..<close])
            if name == "kind" {
                parts.append(.kind)
            } else if let field = fields.add(name), !name.contains("{") {
                // An event could otherwise choose any name, such as one that the broker uses itself.
                if parts.isEmpty { throw invalid("must begin with fixed text, not with {\(name)}") }
                parts.append(.field(field))
            } else {
                throw invalid("{\(name)} is not the path of a field")
            }
            rest = rest[rest.index(after: close)...]
        }
        add(rest)
        if parts.isEmpty { throw invalid("is empty") }
    }

    /// Whether each event makes the same text.
    package var isFixed: Bool {
        parts.allSatisfy { part in
            if case .text = part { return true }
            return false
        }
    }

    /// The fixed texts between the placeholders.
    package var fixedTexts: [String] {
        parts.compactMap { part in
            if case .text(let text) = part { return String(decoding: text, as: UTF8.self) }
            return nil
        }
    }

    /// The template with `placeholder` for each placeholder.
    package func text(placeholder: String) -> String {
        var text = ""
        for part in parts {
            if case .text(let fixed) = part {
                text += String(decoding: fixed, as: UTF8.self)
            } else {
                text += placeholder
            }
        }
        return text
    }

    /// Appends the event's text, without a NUL.
    /// - Parameters:
    ///   - json: the event that `fields` has read.
    ///   - isSafe: whether a byte of a field may be in the text; '_' takes the place of others. A value that is missing
    ///     or empty becomes '_'.
    package func append(
        _ kind: Event.Kind?, _ fields: EventFields, _ json: Span<UInt8>, to output: inout [UInt8],
        isSafe: (UInt8) -> Bool
    ) {
        for part in parts {
            switch part {
            case .text(let text): output += text
            case .kind: output += (kind?.name ?? "unknown").utf8
            case .field(let field):
                let start = output.count
                if !fields.append(field, of: json, to: &output) || output.count == start {
                    output.append(UInt8(ascii: "_"))
                }
                for place in start..<output.count where !isSafe(output[place]) { output[place] = UInt8(ascii: "_") }
            }
        }
    }

    private mutating func add(_ text: Substring) {
        if !text.isEmpty { parts.append(.text(Array(text.utf8))) }
    }
}
