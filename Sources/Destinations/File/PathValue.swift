import Events
import Hashing
import Platform

/// A field of an event as part of a file name.
///
/// - Letters, digits, `-`, `_` and `.` are kept. Every other byte is written as `%XX`, so event data never makes a
///   directory, `.`, `..` or a control character.
/// - A leading `-`, `_` or `.` is written as `%XX`, too, and so is a sign that the template uses in the same name.
///   Different values, or pairs of values, therefore never make the same name. In a file's name every `.` is encoded,
///   because the extension follows it.
/// - `_missing`: the field is absent, null, a list or an object. `_empty`: an empty string. `_overflow`: too many files
///   (`new_files`). No value collides with these, because a leading `_` is encoded.
/// - A value longer than 96 bytes is cut to 63 bytes, followed by `~` and half of its SHA-256 in hexadecimal.
enum PathValue {
    /// The longest encoded value, in bytes.
    static let maximum = 96
    static let missing = Array("_missing".utf8)
    static let empty = Array("_empty".utf8)
    static let overflow = Array("_overflow".utf8)

    /// - Parameters:
    ///   - contents: a JSON string's contents with escapes, or the text of a number or boolean.
    ///   - reserved: the signs that the template uses in the same name.
    static func append(
        _ value: FieldValue, in json: Span<UInt8>, reserved: [UInt8], to name: inout [UInt8]
    ) {
        switch value.type {
        case .missing, .null, .array, .object: name += missing
        case .string, .number, .true, .false: append(json.extracting(value.slice.range), reserved, to: &name)
        case .escapedString:
            var text: [UInt8] = []
            guard JSONText.unescape(json.extracting(value.slice.range), into: &text) else {
                name += missing
                return
            }
            append(text.span, reserved, to: &name)
        }
    }

    private static func append(_ text: Span<UInt8>, _ reserved: [UInt8], to name: inout [UInt8]) {
        guard text.count > 0 else {
            name += empty
            return
        }
        let start = name.count
        var cut = start
        for position in 0..<text.count {
            let byte = text[position]
            let isSign = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
            if PercentEncoding.isAlphanumeric(byte) || isSign && position > 0 && !reserved.contains(byte) {
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
        let hash = Digest(key: nil).hash(text)
        for index in 0..<16 { name += [digit(hash[index] >> 4), digit(hash[index] & 15)] }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
