import Events

/// Why a text is not JSON, or not the JSON that is expected.
struct OTLPJSONFault: Error, Equatable {
    /// The index of the offending byte.
    var position: Int
    var explanation: String
}

/// Reads JSON from left to right, to the letter of RFC 8259, for callers that know which values they expect.
struct JSONReader: ~Escapable {
    private let text: Span<UInt8>
    private(set) var position = 0
    /// The decoded contents of the last string that had escapes.
    private var decoded: [UInt8] = []

    /// - Parameter text: UTF-8. The reader does not check it.
    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    /// The first byte of the next token; nil at the end.
    @_lifetime(self: copy self)
    mutating func peek() -> UInt8? {
        while position < text.count {
            let byte = text[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            position += 1
        }
        return nil
    }

    /// Passes over the next token if it is this character.
    @_lifetime(self: copy self)
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek() == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    @_lifetime(self: copy self)
    mutating func expect(_ character: Unicode.Scalar) throws(OTLPJSONFault) {
        guard take(character) else { throw unexpected("expected '\(character)'") }
    }

    /// Begins an object or a list.
    /// - Returns: whether it has a first member.
    @_lifetime(self: copy self)
    mutating func begin(_ open: Unicode.Scalar, _ close: Unicode.Scalar) throws(OTLPJSONFault) -> Bool {
        try expect(open)
        return !take(close)
    }

    /// Passes over a comma or the end of an object or a list.
    /// - Returns: whether a member follows.
    @_lifetime(self: copy self)
    mutating func next(_ close: Unicode.Scalar) throws(OTLPJSONFault) -> Bool {
        if take(",") { return true }
        guard take(close) else { throw unexpected("expected ',' or '\(close)'") }
        return false
    }

    /// Reads a string and calls `body` with its contents, without escapes.
    @_lifetime(self: copy self)
    mutating func string<Result>(_ body: (Span<UInt8>) -> Result) throws(OTLPJSONFault) -> Result {
        guard peek() == UInt8(ascii: "\"") else { throw unexpected("expected a string") }
        let start = position + 1
        var end = start
        var hasEscapes = false
        while true {
            guard end < text.count else { throw OTLPJSONFault(position: start - 1, explanation: "a string has no end") }
            let byte = text[end]
            if byte == UInt8(ascii: "\"") { break }
            guard byte >= 0x20 else {
                throw OTLPJSONFault(
                    position: end, explanation: "a string has a raw control character; write it as an escape")
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                end += 1
            }
            end += 1
        }
        let contents = text.extracting(start..<end)
        position = end + 1
        guard hasEscapes else { return body(contents) }
        decoded.removeAll(keepingCapacity: true)
        guard JSONText.unescape(contents, into: &decoded) else {
            throw OTLPJSONFault(position: start - 1, explanation: "a string has an invalid escape")
        }
        return body(decoded.span)
    }

    /// Reads a number, `true`, `false` or `null`.
    /// - Returns: its range.
    @_lifetime(self: copy self)
    mutating func word() throws(OTLPJSONFault) -> Range<Int> {
        guard peek() != nil else { throw unexpected("expected a value") }
        let start = position
        var end = start
        while end < text.count {
            switch text[end] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "E"),
                UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                end += 1
                continue
            default: break
            }
            break
        }
        let word = text.extracting(start..<end)
        guard isLiteral(word) || JSONNumber(word) != nil else { throw unexpected("expected a value") }
        position = end
        return start..<end
    }

    /// Reads a number or a literal, or the contents of a string, and calls `body` with it.
    @_lifetime(self: copy self)
    mutating func scalar<Result>(_ body: (Span<UInt8>) -> Result) throws(OTLPJSONFault) -> Result {
        if peek() == UInt8(ascii: "\"") { return try string(body) }
        return body(text.extracting(try word()))
    }

    /// Passes over a `null`.
    @_lifetime(self: copy self)
    mutating func takeNull() throws(OTLPJSONFault) -> Bool {
        guard peek() == UInt8(ascii: "n") else { return false }
        _ = try word()
        return true
    }

    private func isLiteral(_ word: Span<UInt8>) -> Bool {
        word.hasBytes(of: "true".utf8.span) || word.hasBytes(of: "false".utf8.span)
            || word.hasBytes(of: "null".utf8.span)
    }

    /// Passes over any value. It needs no recursion, so nesting cannot overflow the stack.
    @_lifetime(self: copy self)
    mutating func skipValue() throws(OTLPJSONFault) {
        /// The closing brackets of the open objects and lists.
        var open: [Unicode.Scalar] = []
        while true {
            // A value begins here.
            switch peek() {
            case UInt8(ascii: "{"):
                if try begin("{", "}") {
                    open.append("}")
                    try skipName()
                    continue
                }
            case UInt8(ascii: "["):
                if try begin("[", "]") {
                    open.append("]")
                    continue
                }
            case UInt8(ascii: "\""): try string { _ in }
            default: _ = try word()
            }
            // A value ended here.
            while let close = open.last {
                if try next(close) {
                    if close == "}" { try skipName() }
                    break
                }
                open.removeLast()
            }
            if open.isEmpty { return }
        }
    }

    @_lifetime(self: copy self)
    private mutating func skipName() throws(OTLPJSONFault) {
        try string { _ in }
        try expect(":")
    }

    /// A fault at the next token.
    @_lifetime(self: copy self)
    mutating func unexpected(_ expectation: String) -> OTLPJSONFault {
        guard let byte = peek() else {
            return OTLPJSONFault(position: position, explanation: "\(expectation), found the end")
        }
        let found =
            0x21...0x7E ~= byte ? "'\(Unicode.Scalar(byte))'" : "byte 0x\(String(byte, radix: 16, uppercase: true))"
        return OTLPJSONFault(position: position, explanation: "\(expectation), found \(found)")
    }
}
