import Events

/// Recognizes texts that may identify a person: what `redact` finds, and long ids and numbers. It errs on the safe
/// side, for texts that are copied into a file which other people read. One thread.
package struct PersonalText {
    /// Longer texts are prose or ids.
    private static let longest = 40
    /// More digits in one text are a number of something or somebody.
    private static let mostDigits = 5

    private var sensitive = SensitiveText(kinds: Set(SensitiveText.Kind.allCases), patterns: [])

    package init() {}

    /// - Parameter text: decoded text.
    package mutating func mayIdentify(_ text: Span<UInt8>) -> Bool {
        if text.count > Self.longest { return true }
        var digits = 0
        // The letters and digits since the last other character: a random id mixes many of both.
        var word = (letters: 0, digits: 0)
        for place in text.indices {
            switch text[place] {
            case UInt8(ascii: "@"): return true
            case let byte where byte.isDigit:
                digits += 1
                word.digits += 1
            case let byte where byte.isLetter: word.letters += 1
            default: word = (0, 0)
            }
            if word.letters + word.digits >= 16, word.letters >= 3, word.digits >= 3 { return true }
        }
        return digits > Self.mostDigits || sensitive.find(in: text)
    }
}
