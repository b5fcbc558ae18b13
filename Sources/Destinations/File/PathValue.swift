import Events

/// A field of an event as a part of a file's name.
///
/// - Letters, digits, `-`, `_` and `.` stand for themselves, every other byte is written `%XX`: what events
///   say never makes a directory, nor `.` or `..`, nor a control character. A `-`, `_` or `.` in front, and
///   one that the template itself has in the same name, are written `%XX`, too, so that different values
///   (or pairs of them) never make the same name. So is each `.` in a file's name, whose end is the extension.
/// - `_missing`: no such field, or null, a list, an object. `_empty`: an empty text. `_overflow`: too many
///   files (`new_files`). No value looks like these, since a `_` in front of one is encoded.
/// - What is longer than 96 bytes is cut to 63, followed by `~` and half of its SHA-256 in hexadecimal.
enum PathValue {
    /// Bytes that a value takes at most.
    static let maximum = 96
    static let missing = Array("_missing".utf8)
    static let empty = Array("_empty".utf8)
    static let overflow = Array("_overflow".utf8)

    /// - Parameters:
    ///   - contents: of a JSON string, escapes and all, or the text of a number or boolean.
    ///   - reserved: signs of the template's own.
    static func append(
        _ value: FieldValue, in json: Span<UInt8>, reserved: [UInt8], to name: inout [UInt8]
    ) {
        switch value.type {
        case .missing, .null, .array, .object: name += missing
        case .string, .number, .true, .false: append(json.extracting(value.slice.range), reserved, to: &name)
        case .escapedString:
            var text: [UInt8] = []
            guard JSONText.unescape(json.extracting(value.slice.range), into: &text) else { return name += missing }
            append(text.span, reserved, to: &name)
        }
    }

    private static func append(_ text: Span<UInt8>, _ reserved: [UInt8], to name: inout [UInt8]) {
        guard text.count > 0 else { return name += empty }
        let start = name.count
        var cut = start
        for position in 0..<text.count {
            let byte = text[position]
            let isSign = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
            if isAlphanumeric(byte) || isSign && position > 0 && !reserved.contains(byte) {
                name.append(byte)
            } else {
                name += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
            if name.count - start <= 63 { cut = name.count }
            if name.count - start > maximum { return shorten(text, from: cut, &name) }
        }
    }

    private static func shorten(_ text: Span<UInt8>, from cut: Int, _ name: inout [UInt8]) {
        name.removeLast(name.count - cut)
        name.append(UInt8(ascii: "~"))
        for byte in SHA256.hash(text).prefix(16) { name += [digit(byte >> 4), digit(byte & 15)] }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
