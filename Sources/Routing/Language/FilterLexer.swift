import Events
import NameSuggestion

/// Splits a filter's text into tokens. It works on bytes: a character that is not ASCII can appear only in a string or
/// a path.
struct FilterLexer {
    let text: [UInt8]
    private(set) var position = 0

    init(_ text: String) { self.text = Array(text.utf8) }

    /// Returns the next token. Returns `.end` at the end of the text, every time.
    mutating func next() throws(FilterError) -> Token {
        while let byte = peek(), byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
        guard let byte = peek() else { return Token(kind: .end, range: position..<position) }
        switch byte {
        case UInt8(ascii: "("): return take(.open, 1)
        case UInt8(ascii: ")"): return take(.close, 1)
        case UInt8(ascii: "["): return take(.openList, 1)
        case UInt8(ascii: "]"): return take(.closeList, 1)
        case UInt8(ascii: ","): return take(.comma, 1)
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return try string(quote: byte)
        case UInt8(ascii: "="):
            if peek(1) == UInt8(ascii: "=") { throw misspelt("==", 2, "=") }
            return take(.compare(.equal), 1)
        case UInt8(ascii: "!"):
            return peek(1) == UInt8(ascii: "=") ? take(.compare(.notEqual), 2) : take(.not, 1)
        case UInt8(ascii: "<"):
            if peek(1) == UInt8(ascii: ">") { throw misspelt("<>", 2, "!=") }
            return peek(1) == UInt8(ascii: "=") ? take(.compare(.lessOrEqual), 2) : take(.compare(.less), 1)
        case UInt8(ascii: ">"):
            return peek(1) == UInt8(ascii: "=") ? take(.compare(.greaterOrEqual), 2) : take(.compare(.greater), 1)
        case UInt8(ascii: "&"): throw misspelt("&", peek(1) == byte ? 2 : 1, "and")
        case UInt8(ascii: "|"): throw misspelt("|", peek(1) == byte ? 2 : 1, "or")
        default:
            if let number = try number() { return number }
            return try word()
        }
    }

    private func peek(_ ahead: Int = 0) -> UInt8? {
        position + ahead < text.count ? text[position + ahead] : nil
    }

    private mutating func take(_ kind: Token.Kind, _ length: Int) -> Token {
        defer { position += length }
        return Token(kind: kind, range: position..<position + length)
    }

    private func misspelt(_ written: String, _ length: Int, _ meant: String) -> FilterError {
        FilterError(position..<position + length, "\(written) is not an operator", hint: "write \(meant)")
    }

    /// Reads a string from quote to quote. Strings have no escapes, so that a glob's backslashes need no doubling.
    private mutating func string(quote: UInt8) throws(FilterError) -> Token {
        let start = position
        guard let end = text[(start + 1)...].firstIndex(of: quote) else {
            throw FilterError(
                start..<text.count, "this string has no closing \(Character(Unicode.Scalar(quote)))",
                hint: "strings have no escapes: to write a quote in a string, use the other kind of quotes around it")
        }
        position = end + 1
        return Token(
            kind: .string(String(decoding: text[(start + 1)..<end], as: UTF8.self)), range: start..<position)
    }

    /// Reads a number as JSON spells it. Nil: a word starts here. Any other text that starts like a number is an error:
    /// a field of such a name needs a backslash.
    private mutating func number() throws(FilterError) -> Token? {
        guard startsNumber else { return nil }
        var end = position
        while end < text.count, !Self.endsWord(text[end]) { end += 1 }
        if let number = JSONNumber(text.span.extracting(position..<end)) {
            return take(.number(number), end - position)
        }
        let range = position..<end
        let word = String(decoding: text[range], as: UTF8.self)
        let meant = NearestNumber.find(word).map { "write \($0)" } ?? "a number is written 10, -2.5 or 1e6"
        throw FilterError(range, "\(word) is not a number", hint: "\(meant); a field of that name is written \\\(word)")
    }

    /// Whether a number starts here: an optional sign, an optional dot and a digit.
    private var startsNumber: Bool {
        var index = position
        if text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") { index += 1 }
        if index < text.count, text[index] == UInt8(ascii: ".") { index += 1 }
        return index < text.count && text[index].isDigit
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
        byte <= 0x20 || "()[],=!<>&|'\"".utf8.contains(byte)
    }

    private mutating func word() throws(FilterError) -> Token {
        let start = position
        let path = try FieldPath.parse(text, from: &position)
        let range = start..<position
        if path.segments != ["in"], let error = FieldPath.bracket(text, at: position) { throw error }
        if text[start] == UInt8(ascii: "-") {
            let word = String(decoding: text[range], as: UTF8.self)
            throw FilterError(range, "\(word) is not a number", hint: "a field of that name is written \\\(word)")
        }
        let escaped = text[range].contains(UInt8(ascii: "\\"))
        guard !escaped, path.segments.count == 1 else {
            return Token(kind: .word(path, escaped: escaped), range: range)
        }
        let kind: Token.Kind =
            switch path.segments[0] {
            case "and": .and
            case "or": .or
            case "in": .isIn
            case "true": .bool(true)
            case "false": .bool(false)
            case "null": .null
            default: .word(path, escaped: false)
            }
        if case .word = kind { try refuseKeyword(path.segments[0], range) }
        return Token(kind: kind, range: range)
    }

    /// `TRUE` or `AND` would be a field that no event has, so it is a mistake.
    private func refuseKeyword(_ word: String, _ range: Range<Int>) throws(FilterError) {
        let lower = word.lowercased()
        guard ["and", "or", "in", "true", "false", "null"].contains(lower) else { return }
        throw FilterError(
            range, "\(word) is not a word of the language",
            hint: "write \(lower); a field of that name is written \\\(word)")
    }
}

extension UInt8 {
    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}
