import Events

/// The written form of a path: segments separated by dots. Letters and digits (of any script), `_` and `-` are written
/// as they are. A backslash precedes any other character of a segment.
extension FieldPath {
    /// Most segments of a written path. Two joined paths of this length can still be read.
    static let maximumWrittenSegments = maximumSegments / 2

    /// Parses a path. It must be the whole text.
    package init(parsing text: String) throws(FilterError) {
        let bytes = Array(text.utf8)
        var position = 0
        self = try Self.parse(bytes, from: &position)
        guard position == bytes.count else { throw Self.unexpected(bytes, at: position) }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isDigit || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return isPlain(UInt8(truncatingIfNeeded: scalar.value)) }
        switch scalar.properties.generalCategory {
        // A mark (an accent, a vowel sign) belongs to the letter before it.
        case .nonspacingMark, .spacingMark, .decimalNumber: return true
        default: return scalar.properties.isAlphabetic
        }
    }

    /// The length in bytes of the character at `position` if it may appear in a name as it is; else 0.
    static func plainLength(_ text: [UInt8], at position: Int) -> Int {
        guard text[position] >= 0x80 else { return isPlain(text[position]) ? 1 : 0 }
        let length = length(text, at: position)
        let character = String(decoding: text[position..<position + length], as: UTF8.self)
        return character.unicodeScalars.allSatisfy(isPlain) ? length : 0
    }

    /// Parses a path at `position`, and moves `position` past it.
    static func parse(_ text: [UInt8], from position: inout Int) throws(FilterError) -> FieldPath {
        let start = position
        var segments: [String] = []
        while true {
            let segment = try segment(text, from: &position)
            segments.append(segment)
            guard position < text.count, text[position] == UInt8(ascii: ".") else { break }
            position += 1
        }
        guard segments.count <= maximumWrittenSegments else {
            throw FilterError(start..<position, "this path has more than \(maximumWrittenSegments) segments")
        }
        return FieldPath(segments)
    }

    private static func segment(_ text: [UInt8], from position: inout Int) throws(FilterError) -> String {
        var bytes: [UInt8] = []
        while position < text.count {
            if text[position] == UInt8(ascii: "\\") {
                guard position + 1 < text.count else {
                    throw FilterError(position..<text.count, "a \\ at the end escapes nothing")
                }
                let end = position + 1 + length(text, at: position + 1)
                guard text[position + 1] != 0 else {
                    throw FilterError(position..<end, "a path cannot hold the character U+0000")
                }
                bytes.append(contentsOf: text[(position + 1)..<end])
                position = end
            } else {
                let length = plainLength(text, at: position)
                guard length > 0 else { break }
                bytes.append(contentsOf: text[position..<position + length])
                position += length
            }
        }
        guard !bytes.isEmpty else { throw unexpected(text, at: position) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unexpected(_ text: [UInt8], at position: Int) -> FilterError {
        guard position < text.count else {
            return FilterError(position..<position, "expected a field name")
        }
        let end = position + length(text, at: position)
        let character = String(decoding: text[position..<end], as: UTF8.self)
        let shown = character == " " ? "a space" : character
        let isBehindDot = position > 0 && text[position - 1] == UInt8(ascii: ".")
        let message = isBehindDot ? "expected a field name, not \(shown)" : "\(shown) is not allowed here"
        if let error = bracket(text, at: position) { return error }
        // A wrong dot, or a space after a dot, leaves a name empty. Any other character was meant as part of a name.
        guard character != ".", !(isBehindDot && character == " ") else {
            return FilterError(
                position..<end, message, hint: "a dot separates two names; write \\. for a dot inside a name")
        }
        return FilterError(position..<end, message, hint: "in a field's name, write it as \\\(character)")
    }

    /// The error for an index in brackets after a path, as JSONPath writes it. Nil: there is no index at `position`.
    static func bracket(_ text: [UInt8], at position: Int) -> FilterError? {
        dotted(text, at: position).map { path in
            FilterError(
                position..<position + 1, "[ is not allowed here",
                hint: "write the number of a list item, from 0, after a dot: \(path)")
        }
    }

    /// Spells `properties.items[0].sku` with dots instead of brackets. The first bracket is at `position`. Nil: there
    /// is no number in brackets.
    private static func dotted(_ text: [UInt8], at position: Int) -> String? {
        guard position < text.count, text[position] == UInt8(ascii: "[") else { return nil }
        func isPath(_ byte: UInt8) -> Bool {
            byte >= 0x80 || isPlain(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\")
        }
        let start = text[..<position].lastIndex { !isPath($0) }.map { $0 + 1 } ?? 0
        let end =
            text[position...].firstIndex { !isPath($0) && $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }
            ?? text.count
        let written = String(decoding: text[start..<end], as: UTF8.self)
        let path = written.replacing(/\[([0-9]+)\]/) { ".\($0.1)" }
        return start < position && path != written && !path.contains("[") && !path.contains("]") ? path : nil
    }

    /// The length in bytes of the UTF-8 character at `position`.
    private static func length(_ text: [UInt8], at position: Int) -> Int {
        var end = position + 1
        while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
        return end - position
    }
}

extension FieldPath: CustomStringConvertible {
    /// The path as it is written in a filter.
    package var description: String {
        segments.map { segment in
            var text = ""
            for scalar in segment.unicodeScalars {
                if !Self.isPlain(scalar) { text += "\\" }
                text.unicodeScalars.append(scalar)
            }
            return text
        }.joined(separator: ".")
    }

    /// Whether the paths are equal, or one of the fields contains the other.
    func overlaps(_ other: FieldPath) -> Bool {
        zip(segments, other.segments).allSatisfy { $0 == $1 }
    }

    /// Whether it may name an item of a list.
    var endsInNumber: Bool { segments.count > 1 && segments.last?.utf8.allSatisfy(\.isDigit) ?? false }

    /// Whether it names the field `other` or a field inside it.
    func isWithin(_ other: FieldPath) -> Bool { segments.count >= other.segments.count && overlaps(other) }
}
