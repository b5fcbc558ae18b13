import Events

/// How a path is written: segments of letters, digits, `_` and `-`, parted by dots; any other
/// character stands behind a backslash.
extension FieldPath {
    /// Most segments that a path may have.
    static let maximumSegments = 64

    /// The whole text is one path.
    package init(parsing text: String) throws(FilterError) {
        let bytes = Array(text.utf8)
        var position = 0
        self = try Self.parse(bytes, from: &position)
        guard position == bytes.count else { throw Self.unexpected(bytes, at: position) }
    }

    static func isPlain(_ byte: UInt8) -> Bool {
        byte.isDigit || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
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
        guard segments.count <= maximumSegments else {
            throw FilterError(start..<position, "this path has more than \(maximumSegments) segments")
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
            } else if isPlain(text[position]) {
                bytes.append(text[position])
                position += 1
            } else {
                break
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
        if position > 0, text[position - 1] == UInt8(ascii: ".") || text[position] == UInt8(ascii: ".") {
            return FilterError(position..<end, "a field name was expected here, found \(shown)",
                hint: "a dot stands between two names; one that belongs to a name is written \\.")
        }
        return FilterError(position..<end, "\(shown) was not expected here",
            hint: "in a field's name it is written \\\(character)")
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
                if !(scalar.isASCII && Self.isPlain(UInt8(truncatingIfNeeded: scalar.value))) { text += "\\" }
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
