import Events

/// E-mail addresses as people write them, `name@host.domain`: RFC 5321 without quoted names and literal hosts.
enum EmailAddress {
    private static let maximumName = 64
    private static let maximumDomain = 255

    /// Returns the first address at or after `start`.
    static func find(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var lowest = start
        for at in start..<text.count where text[at] == UInt8(ascii: "@") {
            var from = at
            while from > lowest, at - from < maximumName, isName(text[from - 1]) { from -= 1 }
            while from < at, text[from] == UInt8(ascii: ".") { from += 1 }
            var to = at + 1
            while to < text.count, to - at <= maximumDomain, isDomain(text[to]) { to += 1 }
            while to > at + 1, text[to - 1] == UInt8(ascii: ".") || text[to - 1] == UInt8(ascii: "-") { to -= 1 }
            if from < at, endsInDomain(text, at + 1..<to) { return from..<to }
            // A name cannot contain @, so later names start after it.
            lowest = at + 1
        }
        return nil
    }

    /// Whether the domain has a dot, and after the last dot at least two letters or a Punycode name (`xn--…`).
    private static func endsInDomain(_ text: Span<UInt8>, _ domain: Range<Int>) -> Bool {
        guard let dot = domain.last(where: { text[$0] == UInt8(ascii: ".") }), dot > domain.lowerBound else {
            return false
        }
        let last = dot + 1..<domain.upperBound
        return last.count >= 2
            && (last.allSatisfy { text[$0].isLetter || text[$0] >= 0x80 }
                || text.has("-", at: dot + 4) && last.count > 4)
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "-"),
            UInt8(ascii: "'"), UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "*"), UInt8(ascii: "~"),
            UInt8(ascii: "!"), UInt8(ascii: "$"):
            true
        default: byte.isDigit || byte.isLetter || byte >= 0x80
        }
    }

    private static func isDomain(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || byte >= 0x80 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }
}
