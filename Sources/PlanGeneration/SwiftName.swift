/// How names of the user's become Swift's: `order_id` is `orderID`, `Order Completed` is
/// `OrderCompleted`. Whatever characters a name has, something the compiler takes comes out.
enum SwiftName {
    /// Of a type.
    static func type(_ name: String, orElse suffix: String) -> String {
        let words = words(of: name)
        let joined = words.map { initialisms.contains($0) ? $0.uppercased() : capitalized($0) }.joined()
        return finished(joined, name, taken: takenTypes, suffix: suffix)
    }

    /// Of a property, a parameter, a method or a case; not yet `quoted`.
    static func member(_ name: String, orElse suffix: String) -> String {
        let words = words(of: name)
        let rest = words.dropFirst().map { initialisms.contains($0) ? $0.uppercased() : capitalized($0) }.joined()
        return finished((words.first ?? "") + rest, name, taken: takenMembers, suffix: suffix)
    }

    /// As it is written where it is declared and used: keywords between backticks.
    static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    private static func finished(_ joined: String, _ name: String, taken: Set<String>, suffix: String) -> String {
        guard let first = joined.unicodeScalars.first else {
            // Of a name without letters and digits its characters' numbers are left.
            let numbers = name.unicodeScalars.map { String($0.value, radix: 16, uppercase: true) }
            return suffix + (numbers.isEmpty ? "Empty" : numbers.map { "U" + $0 }.joined())
        }
        if !first.properties.isXIDStart { return "_" + joined }
        return taken.contains(joined) ? joined + suffix.prefix(1).uppercased() + suffix.dropFirst() : joined
    }

    /// Lower-case; parted by whatever is neither letter nor digit, where a capital follows a small letter
    /// or a digit, and where one ends a run of capitals.
    private static func words(of name: String) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        func end() {
            if !word.isEmpty { words.append(String(word).lowercased()) }
            word = String.UnicodeScalarView()
        }
        let scalars = Array(name.unicodeScalars)
        for (position, scalar) in scalars.enumerated() {
            guard scalar.properties.isXIDContinue, scalar != "_" else {
                end()
                continue
            }
            if scalar.properties.isUppercase, let last = word.last {
                let endsCapitals =
                    last.properties.isUppercase && position + 1 < scalars.count
                    && scalars[position + 1].properties.isLowercase
                if !last.properties.isUppercase || endsCapitals { end() }
            }
            word.append(scalar)
        }
        end()
        return words
    }

    private static func capitalized(_ word: String) -> String { word.prefix(1).uppercased() + word.dropFirst() }

    /// Words that Swift writes in capitals.
    private static let initialisms: Set<String> = ["id", "ip", "url", "uuid", "http", "https", "json", "html", "api", "ui", "os"]

    /// What generated code itself says inside of the plan's type.
    private static let takenTypes: Set<String> = [
        "String", "Int", "Double", "Bool", "Date", "Array", "Dictionary", "Optional", "Swift", "Foundation", "Penstock",
        "PropertyValue", "AnalyticsEvent", "EventSending", "Encodable", "Encoder", "CodingKey", "CodingKeys", "Hashable",
        "Sendable", "CaseIterable", "PropertyKey", "Self", "Type", "Protocol", "Any",
    ]

    /// What `AnalyticsEvent`, the compiler's conformances and the language itself give a type.
    private static let takenMembers: Set<String> = [
        "self", "init", "eventName", "namePolicy", "consentCategory", "encode", "hash", "hashValue", "rawValue",
        "allCases", "additionalProperties", "events", "some", "any",
    ]

    /// That cannot be a name without backticks.
    private static let keywords: Set<String> = [
        "associatedtype", "as", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
        "try", "typealias", "var", "where", "while",
    ]
}
