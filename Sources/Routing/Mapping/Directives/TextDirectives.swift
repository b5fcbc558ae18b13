import Events
import Hashing

extension Directive {
    static let first = Directive(
        "$first",
        .arguments(
            [Argument("values", .values, required: true, "the values, in the order in which they are tried")],
            shorthand: "values"), "the first value that is not blank: not missing, null or empty text"
    ) { arguments throws(DirectiveFault) in
        FirstNode(values: arguments.values("values") ?? [])
    }

    static let `default` = Directive(
        "$default",
        .arguments([
            Argument("value", .value, required: true, "the value"),
            Argument("default", .value, required: true, "the result if the value is missing or null"),
        ]), "a value, or another one if it is missing or null"
    ) { arguments throws(DirectiveFault) in
        DefaultNode(value: try arguments.required("value"), fallback: try arguments.required("default"))
    }

    static let uuid = Directive(
        "$uuid", .value,
        "a UUID: text that is one, in lower case; for any other text or number, always the same one, made of its"
            + " SHA-256 (version 8); null stays null"
    ) { arguments throws(DirectiveFault) in
        TextNode(value: try arguments.required()) { text, run, output in appendUUID(of: text, run, to: &output) }
    }

    static let base64 = Directive(
        "$base64", .value, "the text in Base64 (RFC 4648, with padding); null stays null"
    ) { arguments throws(DirectiveFault) in
        TextNode(value: try arguments.required()) { text, _, output in appendBase64(of: text, to: &output) }
    }

    static let trim = Directive(
        "$trim", .value, "the text without the white space at its start and end; null stays null"
    ) { arguments throws(DirectiveFault) in
        TextNode(value: try arguments.required()) { text, _, output in
            let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
            var (start, end) = (0, text.count)
            while start < end, isSpace(text[start]) { start += 1 }
            while end > start, isSpace(text[end - 1]) { end -= 1 }
            JSONText.appendContents(text.extracting(start..<end), to: &output)
        }
    }

    static let urlEncode = Directive(
        "$urlEncode", .value,
        "the text for a part of a URL: every byte of UTF-8 except letters, digits, - . _ ~ becomes %XX; null stays null"
    ) { arguments throws(DirectiveFault) in
        TextNode(value: try arguments.required()) { text, _, output in
            for i in text.indices { appendURLEncoded(text[i], to: &output) }
        }
    }
}

private struct FirstNode: MappingNode {
    let values: [any MappingNode]

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        let start = output.count
        for value in values {
            if value.write(scope, to: &output), !isBlank(output.span.extracting(start...)) { return true }
            output.removeLast(output.count - start)
        }
        return false
    }

    private func isBlank(_ json: Span<UInt8>) -> Bool {
        let value = FieldValue(of: json)
        return value.type == .missing || value.type == .null || (value.type == .string && value.slice.length == 0)
    }
}

private struct DefaultNode: MappingNode {
    let value: any MappingNode
    let fallback: any MappingNode

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        let start = output.count
        if value.write(scope, to: &output), FieldValue(of: output.span.extracting(start...)).type != .null {
            return true
        }
        output.removeLast(output.count - start)
        return fallback.write(scope, to: &output)
    }
}

/// A text made of another one. A number or boolean is its JSON spelling, a list or object its JSON.
private struct TextNode: MappingNode {
    let value: any MappingNode
    /// Appends the contents of a JSON string, without the quotes.
    let append: @Sendable (Span<UInt8>, MappingRun, inout [UInt8]) -> Void

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        var text = scope.run.takeBuffer()
        defer { scope.run.giveBack(&text) }
        switch scope.read(value, into: &text) {
        case .missing: return false
        case .null: output.append(contentsOf: text.span)
        default:
            output.append(UInt8(ascii: "\""))
            append(text.span, scope.run, &output)
            output.append(UInt8(ascii: "\""))
        }
        return true
    }
}

private let lowerDigits = Array("0123456789abcdef".utf8)
private let upperDigits = Array("0123456789ABCDEF".utf8)
private let base64Digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
}

private func appendURLEncoded(_ byte: UInt8, to output: inout [UInt8]) {
    if isLetterOrDigit(byte) || byte == 0x2D || byte == 0x2E || byte == 0x5F || byte == 0x7E {
        output.append(byte)
    } else {
        output.append(UInt8(ascii: "%"))
        output.append(upperDigits[Int(byte >> 4)])
        output.append(upperDigits[Int(byte & 15)])
    }
}

private func appendBase64(of text: Span<UInt8>, to output: inout [UInt8]) {
    var place = 0
    while place < text.count {
        let count = min(3, text.count - place)
        var bits: UInt32 = 0
        for i in 0..<3 { bits = bits << 8 | (i < count ? UInt32(text[place + i]) : 0) }
        for i in 0..<4 {
            let digit = base64Digits[Int(bits >> UInt32(18 - 6 * i)) & 63]
            output.append(i <= count ? digit : UInt8(ascii: "="))
        }
        place += count
    }
}

private func appendUUID(of text: Span<UInt8>, _ run: MappingRun, to output: inout [UInt8]) {
    if isUUID(text) {
        for i in text.indices { output.append((0x41...0x46).contains(text[i]) ? text[i] | 0x20 : text[i]) }
        return
    }
    // RFC 9562, section 5.8: version 8, whose other bits are the maker's.
    var bytes = run.digest(key: nil).hash(text)
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    for i in 0..<16 {
        if i == 4 || i == 6 || i == 8 || i == 10 { output.append(UInt8(ascii: "-")) }
        output.append(lowerDigits[Int(bytes[i] >> 4)])
        output.append(lowerDigits[Int(bytes[i] & 15)])
    }
}

/// Whether a text is 8-4-4-4-12 hexadecimal digits.
private func isUUID(_ text: Span<UInt8>) -> Bool {
    guard text.count == 36 else { return false }
    for i in text.indices {
        if i == 8 || i == 13 || i == 18 || i == 23 {
            if text[i] != UInt8(ascii: "-") { return false }
        } else {
            let digit = text[i] | 0x20
            if !(0x30...0x39).contains(text[i]), !(0x61...0x66).contains(digit) { return false }
        }
    }
    return true
}
