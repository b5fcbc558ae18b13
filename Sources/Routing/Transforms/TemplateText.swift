import Events

/// Parser for a text that contains `{{ path }}`.
package enum TemplateText {
    package enum Piece: Sendable, Equatable {
        /// Contents of a JSON string, already escaped.
        case literal([UInt8])
        case path(FieldPath)
    }

    package static func parse(_ text: String) throws(FilterError) -> [Piece] { try read(text).pieces }

    /// The paths in a text, each with its byte range.
    static func paths(in text: String) throws(FilterError) -> [(path: FieldPath, range: Range<Int>)] {
        try read(text).paths
    }

    private static func read(_ text: String) throws(FilterError) -> (
        pieces: [Piece], paths: [(path: FieldPath, range: Range<Int>)]
    ) {
        let bytes = Array(text.utf8)
        var pieces: [Piece] = []
        var paths: [(path: FieldPath, range: Range<Int>)] = []
        var literalStart = 0
        func literal(upTo end: Int) {
            guard end > literalStart else { return }
            var escaped: [UInt8] = []
            JSONText.appendContents(bytes.span.extracting(literalStart..<end), to: &escaped)
            pieces.append(.literal(escaped))
        }
        var position = 0
        while position + 1 < bytes.count {
            guard bytes[position] == UInt8(ascii: "{"), bytes[position + 1] == UInt8(ascii: "{") else {
                position += 1
                continue
            }
            literal(upTo: position)
            let opened = position
            position += 2
            while position < bytes.count, bytes[position] == 0x20 { position += 1 }
            let start = position
            let path = try FieldPath.parse(bytes, from: &position)
            pieces.append(.path(path))
            paths.append((path, start..<position))
            if let error = FieldPath.bracket(bytes, at: position) { throw error }
            while position < bytes.count, bytes[position] == 0x20 { position += 1 }
            guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "}"),
                bytes[position + 1] == UInt8(ascii: "}")
            else {
                throw FilterError(
                    opened..<min(position + 1, bytes.count), "expected }} after this path",
                    hint:
                        "write one path between {{ and }}, as in {{ properties.plan }}; "
                        + "put \\ before each character of a name that is not a letter, a digit, _ or -"
                )
            }
            position += 2
            literalStart = position
        }
        literal(upTo: bytes.count)
        return (pieces, paths)
    }
}
