/// Names and texts in SQL statements.
enum SQL {
    static let identifierRule =
        "must be lower-case letters, digits and '_', at most 63, and must not begin with a digit"

    /// Whether a name means the same with and without quotes.
    static func isIdentifier(_ name: some StringProtocol) -> Bool {
        guard let first = name.utf8.first, first < UInt8(ascii: "0") || first > UInt8(ascii: "9") else { return false }
        return name.utf8.count <= 63
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    static func identifier(_ name: String) -> String { "\"" + doubled("\"", in: name) + "\"" }

    /// A string constant. The connection sets standard_conforming_strings.
    static func literal(_ text: String) -> String { "'" + doubled("'", in: text) + "'" }

    private static func doubled(_ quote: Character, in text: String) -> String {
        var result = ""
        for character in text {
            result.append(character)
            if character == quote { result.append(quote) }
        }
        return result
    }
}
