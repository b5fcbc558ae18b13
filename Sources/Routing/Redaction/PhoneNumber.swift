import Events

/// Phone numbers that can be distinguished from other numbers: international numbers with a `+` (E.164), and North
/// American numbers in the formats `(555) 010-9999` and `555-010-9999`.
enum PhoneNumber {
    /// Number of digits.
    static let lengths = 8...15

    /// Returns the first phone number at or after `start`.
    static func find(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        for position in start..<text.count where !text.isWord(at: position - 1) {
            switch text[position] {
            case UInt8(ascii: "+"):
                if let range = international(text, from: position) { return range }
            case UInt8(ascii: "("), UInt8(ascii: "0")...UInt8(ascii: "9"):
                if let range = american(text, from: position) { return range }
            default: continue
            }
        }
        return nil
    }

    private static func international(_ text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var digits = 0
        var end = start + 1
        var position = start + 1
        // At most three other characters are allowed between two groups of digits, as in "0) 3".
        while position < text.count, position - end <= 3 {
            if text[position].isDigit {
                digits += 1
                if digits > lengths.upperBound { return nil }
                end = position + 1
            } else if !" -./()".utf8.contains(text[position]) {
                break
            }
            position += 1
        }
        return digits >= lengths.lowerBound && !text.isWord(at: end) ? start..<end : nil
    }

    private static func american(_ text: Span<UInt8>, from start: Int) -> Range<Int>? {
        guard !text.has("-", at: start - 1), !text.has(".", at: start - 1) else { return nil }
        var position = start
        if text.has("(", at: position) {
            guard digits(3, text, at: position + 1), text.has(")", at: position + 4) else { return nil }
            position += text.has(" ", at: position + 5) ? 6 : 5
        } else {
            guard digits(3, text, at: position), isSeparator(text, at: position + 3) else { return nil }
            position += 4
        }
        guard digits(3, text, at: position), isSeparator(text, at: position + 3), digits(4, text, at: position + 4)
        else { return nil }
        let end = position + 8
        return text.isWord(at: end) || text.has("-", at: end) ? nil : start..<end
    }

    private static func digits(_ count: Int, _ text: Span<UInt8>, at position: Int) -> Bool {
        (position..<position + count).allSatisfy { text.isDigit(at: $0) }
    }

    private static func isSeparator(_ text: Span<UInt8>, at position: Int) -> Bool {
        text.has("-", at: position) || text.has(".", at: position) || text.has(" ", at: position)
    }
}
