import Events

/// How a path is written: segments of letters and digits (of any script), `_` and `-`, parted by dots; any
/// other character stands behind a backslash.
extension FieldPath {
    /// Most segments that a written path may have: two of them, one behind the other, can be read.
    static let maximumWrittenSegments = maximumSegments / 2

    /// The whole text is one path.
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
        // A mark belongs to the letter before it: an accent, a vowel's sign.
        case .nonspacingMark, .spacingMark, .decimalNumber: return true
        default: return scalar.properties.isAlphabetic
        }
    }

    /// Bytes of the character at `position` if it may stand in a name as it is; else 0.
    static func plainLength(_ text: [UInt8], at position: Int) -> Int {
        guard text[position] >= 0x80 else { return isPlain(text[position]) ? 1 : 0 }
        let length = length(text, at: position)
        let character = String(decoding: text[position..<position + length], as: UTF8.self)
        return character.unicodeScalars.allSatisfy(isPlain) ? length : 0
    }

    /// Reads a path and leaves `position` behind it.
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
            return FilterError(position..<position, "a field name was expected here")
        }
        let end = position + length(text, at: position)
        let character = String(decoding: text[position..<end], as: UTF8.self)
        let shown = character == " " ? "a space" : character
        let isBehindDot = position > 0 && text[position - 1] == UInt8(ascii: ".")
        let message = isBehindDot ? "a field name was expected here, found \(shown)" : "\(shown) was not expected here"
        if let error = bracket(text, at: position) { return error }
        // What is no part of a name ends it too early; whatever else stands there is meant as one.
        guard character != ".", !(isBehindDot && character == " ") else {
            return FilterError(position..<end, message, hint: "a dot stands between two names; one that belongs to a name is written \\.")
        }
        return FilterError(position..<end, message, hint: "in a field's name it is written \\\(character)")
    }

    /// What to say of a number in brackets behind a path, as JSONPath has it; nil: there is none at `position`.
    static func bracket(_ text: [UInt8], at position: Int) -> FilterError? {
        dotted(text, at: position).map { path in
            FilterError(
                position..<position + 1, "[ was not expected here",
                hint: "an item of a list is named by its number, from 0, behind a dot: \(path)")
        }
    }

    /// `properties.items[0].sku` as it is to be written, for a text with the first of the brackets at
    /// `position`; nil: that is no number in brackets.
    private static func dotted(_ text: [UInt8], at position: Int) -> String? {
        guard position < text.count, text[position] == UInt8(ascii: "[") else { return nil }
        func isPath(_ byte: UInt8) -> Bool { byte >= 0x80 || isPlain(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "\\") }
        let start = text[..<position].lastIndex { !isPath($0) }.map { $0 + 1 } ?? 0
        let end = text[position...].firstIndex { !isPath($0) && $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") } ?? text.count
        let written = String(decoding: text[start..<end], as: UTF8.self)
        let path = written.replacing(/\[([0-9]+)\]/) { ".\($0.1)" }
        return start < position && path != written && !path.contains("[") && !path.contains("]") ? path : nil
    }

    /// Bytes of the UTF-8 character that starts here.
    private static func length(_ text: [UInt8], at position: Int) -> Int {
        var end = position + 1
        while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
        return end - position
    }
}

extension FieldPath: CustomStringConvertible {
    /// As it is written in a filter.
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

    /// Whether one of the two holds the other, or they are the same.
    func overlaps(_ other: FieldPath) -> Bool {
        zip(segments, other.segments).allSatisfy { $0 == $1 }
    }

    /// Whether it may name an item of a list.
    var endsInNumber: Bool { segments.count > 1 && segments.last?.utf8.allSatisfy(\.isDigit) ?? false }

    /// Whether it names the field `other`, or one inside that.
    func isWithin(_ other: FieldPath) -> Bool { segments.count >= other.segments.count && overlaps(other) }
}
