/// Numbers of YAML 1.2's core schema.
package enum YAMLNumber {
    /// The number in JSON's notation, with its digits kept; nil if the text is not a number.
    package static func json(_ text: String) -> String? {
        for (prefix, radix) in [("0x", 16), ("0o", 8)] where text.hasPrefix(prefix) {
            return UInt64(text.dropFirst(2), radix: radix).map(String.init)
        }
        var rest = text[...]
        let negative = rest.hasPrefix("-")
        if negative || rest.hasPrefix("+") { rest = rest.dropFirst() }
        let whole = rest.prefix(while: isDigit)
        rest = rest.dropFirst(whole.count)
        var fraction: Substring = ""
        if rest.hasPrefix(".") {
            rest = rest.dropFirst()
            fraction = rest.prefix(while: isDigit)
            rest = rest.dropFirst(fraction.count)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var exponent = ""
        if rest.hasPrefix("e") || rest.hasPrefix("E") {
            rest = rest.dropFirst()
            exponent = "e"
            if let sign = rest.first, sign == "+" || sign == "-" {
                exponent.append(sign)
                rest = rest.dropFirst()
            }
            let digits = rest.prefix(while: isDigit)
            guard !digits.isEmpty else { return nil }
            exponent += digits
            rest = rest.dropFirst(digits.count)
        }
        guard rest.isEmpty else { return nil }
        let significant = whole.drop { $0 == "0" }
        return (negative ? "-" : "") + (significant.isEmpty ? "0" : significant)
            + (fraction.isEmpty ? "" : "." + fraction) + exponent
    }

    private static func isDigit(_ character: Character) -> Bool {
        ("0"..."9").contains(character) && character.utf8.count == 1
    }
}
