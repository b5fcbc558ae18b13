import Events

/// Numbers of payment cards: digits with optional single spaces or hyphens between them, with the first digits and the
/// length of a known network and a valid check digit (Luhn's formula, ISO/IEC 7812-1).
enum CardNumber {
    static let lengths = 13...19

    /// Returns the first card number at or after `start`.
    static func find(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var position = start
        while position < text.count {
            guard text[position].isDigit, !text.isWord(at: position - 1), !isDecimal(text, before: position) else {
                position += 1
                continue
            }
            if let range = number(text, from: position) { return range }
            while text.isDigit(at: position) { position += 1 }
        }
        return nil
    }

    /// Returns the longest card number that starts at `start`.
    private static func number(_ text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var digits: [19 of UInt8] = .init(repeating: 0)
        var count = 0
        var position = start
        var found: Range<Int>?
        while text.isDigit(at: position), count < lengths.upperBound {
            digits[count] = text[position] - UInt8(ascii: "0")
            count += 1
            position += 1
            if !text.isWord(at: position), !(text.has(".", at: position) && text.isDigit(at: position + 1)),
                isNetwork(digits, count), isLuhn(digits, count)
            {
                found = start..<position
            }
            if text.has(" ", at: position) || text.has("-", at: position), text.isDigit(at: position + 1) {
                position += 1
            }
        }
        return found
    }

    /// Whether the digits at `position` are the fraction of a decimal number.
    private static func isDecimal(_ text: Span<UInt8>, before position: Int) -> Bool {
        text.has(".", at: position - 1) && text.isDigit(at: position - 2)
    }

    private static func isNetwork(_ digits: [19 of UInt8], _ count: Int) -> Bool {
        guard lengths.contains(count) else { return false }
        var prefix = 0
        for i in 0..<4 { prefix = prefix * 10 + Int(digits[i]) }
        switch prefix {
        case 4000...4999: return count == 13 || count == 16 || count == 19
        case 5100...5599, 2221...2720: return count == 16
        case 3400...3499, 3700...3799: return count == 15
        case 3000...3059, 3095, 3600...3699, 3800...3999: return count >= 14
        case 6011, 6440...6499, 6500...6599, 6200...6299, 3528...3589: return count >= 16
        default: return false
        }
    }

    private static func isLuhn(_ digits: [19 of UInt8], _ count: Int) -> Bool {
        var sum = 0
        for i in 0..<count {
            let digit = Int(digits[count - 1 - i])
            let doubled = i % 2 == 0 ? digit : digit * 2
            sum += doubled > 9 ? doubled - 9 : doubled
        }
        return sum % 10 == 0
    }
}
