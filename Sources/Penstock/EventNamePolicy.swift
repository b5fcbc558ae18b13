/// The rule by which the name of a case or a type becomes the name of an event.
public enum EventNamePolicy: Sendable, Hashable, CaseIterable {
    /// The name as it is in the source: `orderCompleted`.
    case verbatim
    /// Capitalized words, as Segment's specification recommends: `Order Completed`.
    case titleCase
    /// Lowercase words joined by underscores, as Firebase requires: `order_completed`.
    case snakeCase

    /// Returns the name in the spelling of this policy.
    ///
    /// A new word begins after a space, `_`, `-` or `.`; at a capital after a lowercase letter or a digit; and at the
    /// last capital of a run that a lowercase letter follows. `productURLOpened` has three words and becomes
    /// `Product Url Opened`. The daemon's `name_case` follows the same rules, so it does not change a name that was
    /// made here.
    public func spelling(of name: String) -> String {
        guard self != .verbatim else { return name }
        var output: [UInt8] = []
        append(name, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends the name in the spelling of this policy, unescaped.
    func append(_ name: String, to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: name.utf8)
        guard self != .verbatim else { return }
        for position in start..<output.count where output[position] >= 0x80 {
            output.removeSubrange(start...)
            output.append(contentsOf: joined(Self.words(in: name)).utf8)
            return
        }
        // The new spelling is appended after the old one, which is then removed.
        let source = start..<output.count
        appendASCII(source, of: &output)
        output.removeSubrange(source)
    }

    private func appendASCII(_ name: Range<Int>, of output: inout [UInt8]) {
        let first = name.first { Self.isWord(output[$0]) } ?? name.upperBound
        for position in name.lowerBound..<first { output.append(output[position]) }
        var isFirstWord = true
        var startsWord = true
        for position in first..<name.upperBound {
            let byte = output[position]
            guard !Self.isSeparator(byte) else {
                // Separators at the end begin no word.
                if position + 1 < name.upperBound { startsWord = true }
                continue
            }
            if position > first, Self.isUpper(byte) {
                let before = output[position - 1]
                let endsCapitals =
                    Self.isUpper(before) && position + 1 < name.upperBound && Self.isLower(output[position + 1])
                if Self.isLower(before) || Self.isDigit(before) || endsCapitals { startsWord = true }
            }
            if startsWord, !isFirstWord { output.append(self == .titleCase ? 0x20 : UInt8(ascii: "_")) }
            output.append(startsWord && self == .titleCase ? Self.upper(byte) : Self.lower(byte))
            startsWord = false
            isFirstWord = false
        }
    }

    /// Splits a name that has letters outside ASCII, by the same rules.
    private static func words(in name: String) -> [Substring] {
        var words: [Substring] = []
        var start = name.startIndex
        var before: Character?
        var position = name.startIndex
        while position < name.endIndex {
            let character = name[position]
            let next = name.index(after: position)
            if " _-.".contains(character) {
                if start < position { words.append(name[start..<position]) }
                start = next
            } else if character.isUppercase, let before, start < position {
                let endsCapitals = before.isUppercase && next < name.endIndex && name[next].isLowercase
                if before.isLowercase || before.isNumber || endsCapitals {
                    words.append(name[start..<position])
                    start = position
                }
            }
            before = character
            position = next
        }
        if start < name.endIndex { words.append(name[start...]) }
        return words
    }

    private func joined(_ words: [Substring]) -> String {
        self == .snakeCase
            ? words.map { $0.lowercased() }.joined(separator: "_")
            : words.map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined(separator: " ")
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
