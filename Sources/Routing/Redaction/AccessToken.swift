import Events

/// Credentials: the token in `Bearer TOKEN` (RFC 6750, section 2.1; the word "Bearer" is kept), and JSON Web Tokens
/// anywhere (RFC 7519: three parts in base64url, of which the first starts with `eyJ`, the encoding of `{"`).
enum AccessToken {
    /// Length of the shortest text that can contain a token, in bytes.
    static let minimumLength = 15
    private static let shortest = 8
    private static let bearer = Array("bearer".utf8)

    /// Returns the first token at or after `start`.
    static func find(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var position = start
        while position < text.count {
            guard !text.isWord(at: position - 1) else {
                position += 1
                continue
            }
            if text[position] | 0x20 == UInt8(ascii: "b"), let range = token(text, from: position) { return range }
            if text.has("e", at: position), text.has("y", at: position + 1), text.has("J", at: position + 2) {
                let (range, end) = webToken(text, from: position)
                if let range { return range }
                position = end
            }
            position += 1
        }
        return nil
    }

    private static func token(_ text: Span<UInt8>, from start: Int) -> Range<Int>? {
        guard text.count - start > bearer.count else { return nil }
        for i in bearer.indices where text[start + i] | 0x20 != bearer[i] { return nil }
        var from = start + bearer.count
        guard text.has(" ", at: from) || text.has(":", at: from) || text.has("=", at: from) else { return nil }
        while text.has(" ", at: from) || text.has(":", at: from) || text.has("=", at: from) { from += 1 }
        var to = from
        while to < text.count, isToken(text[to]) { to += 1 }
        return to - from >= shortest ? from..<to : nil
    }

    /// - Returns: the token, if one starts here, and the end of the characters inspected.
    private static func webToken(_ text: Span<UInt8>, from start: Int) -> (Range<Int>?, Int) {
        var dots = 0
        var lengths = (0, 0)
        var end = start
        while end < text.count {
            if text[end] == UInt8(ascii: ".") {
                if dots == 2 { break }
                dots += 1
            } else if isBase64URL(text[end]) {
                if dots == 0 { lengths.0 += 1 } else { lengths.1 += 1 }
            } else {
                break
            }
            end += 1
        }
        return (dots == 2 && lengths.0 >= shortest && lengths.1 >= shortest ? start..<end : nil, end)
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        isBase64URL(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") || byte == UInt8(ascii: "+")
            || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "=")
    }
}
