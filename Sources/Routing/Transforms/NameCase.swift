import Events

/// Spellings of a name that consists of words. Words are separated by spaces, `_`, `-` and `.`. A word also starts at a
/// capital after a small letter or digit, and at the last capital of a run if a small letter follows (`HTTPServer` has
/// two words). Characters before the first letter or digit are kept: `$insert_id` keeps its `$`.
enum NameCase: String, Sendable, CaseIterable {
    case snake, kebab, camel, title
    /// `ORDER_COMPLETED`.
    case upperSnake = "upper_snake"

    /// Maximum growth of an ASCII name: each word has at least one letter or digit, and one separator before it.
    static let growth = 2

    /// Appends a name in this spelling. A name without a word is unchanged.
    func append(_ name: Span<UInt8>, to output: inout [UInt8]) {
        guard Self.isASCII(name) else { return appendUnicode(name, to: &output) }
        output.append(addingCapacity: Self.growth * name.count) { appendASCII(name, to: &$0) }
    }

    /// - Precondition: the name is ASCII, and `output` has space for `growth` times its length.
    @inline(__always)
    func appendASCII(_ name: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        var position = 0
        while position < name.count, !Self.isWord(name[position]) {
            output.append(name[position])
            position += 1
        }
        let separator = self.separator
        let (capitalizesFirst, capitalizesOthers) = (self == .title, self == .title || self == .camel)
        var (startsWord, isFirstWord) = (true, true)
        while position < name.count {
            let byte = name[position]
            position += 1
            if Self.isSeparator(byte) {
                // Separators at the end of the name are dropped.
                startsWord = position < name.count
                continue
            }
            if !startsWord, Self.isUpper(byte) {
                let before = name[position - 2]
                let endsCapitals = Self.isUpper(before) && position < name.count && Self.isLower(name[position])
                startsWord = endsCapitals || Self.isLower(before) || Self.isDigit(before)
            }
            guard startsWord, self != .upperSnake else {
                if startsWord, !isFirstWord, let separator { output.append(separator) }
                output.append(self == .upperSnake ? Self.upper(byte) : Self.lower(byte))
                (startsWord, isFirstWord) = (false, false)
                continue
            }
            if !isFirstWord, let separator { output.append(separator) }
            let isCapital = isFirstWord ? capitalizesFirst : capitalizesOthers
            output.append(isCapital ? Self.upper(byte) : Self.lower(byte))
            startsWord = false
            isFirstWord = false
            // Fast path: most bytes are small letters inside a word.
            while position < name.count, Self.isLower(name[position]) {
                output.append(name[position])
                position += 1
            }
        }
    }

    private var separator: UInt8? {
        switch self {
        case .snake, .upperSnake: UInt8(ascii: "_")
        case .kebab: UInt8(ascii: "-")
        case .title: 0x20
        case .camel: nil
        }
    }

    /// As `appendASCII`, with Unicode's letters and cases.
    private func appendUnicode(_ name: Span<UInt8>, to output: inout [UInt8]) {
        let scalars = Array(String(copying: name).unicodeScalars)
        func isSeparator(_ scalar: Unicode.Scalar) -> Bool { " _-.".unicodeScalars.contains(scalar) }
        func isWord(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        }
        guard let first = scalars.firstIndex(where: isWord) else { return output.append(contentsOf: name) }
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars[..<first])
        var words: [String] = []
        var startsWord = true
        for i in first..<scalars.count {
            let scalar = scalars[i]
            if isSeparator(scalar) {
                startsWord = true
                continue
            }
            if i > first, scalar.properties.isUppercase {
                let before = scalars[i - 1]
                let endsCapitals =
                    before.properties.isUppercase && i + 1 < scalars.count && scalars[i + 1].properties.isLowercase
                if before.properties.isLowercase || before.properties.numericType != nil || endsCapitals {
                    startsWord = true
                }
            }
            if startsWord { words.append("") }
            startsWord = false
            words[words.count - 1].unicodeScalars.append(scalar)
        }
        for (i, word) in words.enumerated() {
            if i > 0, let separator { text.unicodeScalars.append(Unicode.Scalar(separator)) }
            if self == .upperSnake {
                text += word.uppercased()
                continue
            }
            guard self == .title || self == .camel && i > 0, let initial = word.unicodeScalars.first else {
                text += word.lowercased()
                continue
            }
            text += initial.properties.titlecaseMapping + String(word.unicodeScalars.dropFirst()).lowercased()
        }
        output.append(contentsOf: text.utf8)
    }

    static func isASCII(_ name: Span<UInt8>) -> Bool {
        var all: UInt8 = 0
        for i in name.indices { all |= name[i] }
        return all < 0x80
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func isUpper(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }
    private static func isLower(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isWord(_ byte: UInt8) -> Bool { isUpper(byte) || isLower(byte) || isDigit(byte) }
    private static func upper(_ byte: UInt8) -> UInt8 { isLower(byte) ? byte & ~0x20 : byte }
    private static func lower(_ byte: UInt8) -> UInt8 { isUpper(byte) ? byte | 0x20 : byte }
}
