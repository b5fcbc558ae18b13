/// Converts names from a plan to Swift names: `order_id` becomes `orderID`, `Order Completed` becomes `OrderCompleted`.
/// Any name gives a valid Swift name, whatever characters it has.
enum SwiftName {
    /// The name for a type.
    static func type(_ name: String, orElse suffix: String) -> String {
        if name.isEmpty { return "Unnamed" }
        let words = words(of: name)
        let joined = words.map { initialisms.contains($0) ? $0.uppercased() : capitalized($0) }.joined()
        return finished(joined, name, taken: takenTypes, suffix: suffix)
    }

    /// The name for a property, a parameter, a method or a case. Use `quoted` before writing it.
    static func member(_ name: String, orElse suffix: String) -> String {
        if name.isEmpty { return "empty" }
        let words = words(of: name)
        let rest = words.dropFirst().map { initialisms.contains($0) ? $0.uppercased() : capitalized($0) }.joined()
        return finished((words.first ?? "") + rest, name, taken: takenMembers, suffix: suffix)
    }

    /// The name as written at its declaration and its uses: keywords are in backticks.
    static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

    /// The name as written for a parameter and its argument. Most keywords need no backticks there.
    static func label(_ name: String) -> String { ["inout", "let", "var"].contains(name) ? "`\(name)`" : name }

    private static func finished(_ joined: String, _ name: String, taken: Set<String>, suffix: String) -> String {
        guard let first = joined.unicodeScalars.first else {
            // For a name without letters and digits, use the code points of its characters.
            let numbers = name.unicodeScalars.map { String($0.value, radix: 16, uppercase: true) }
            return suffix + numbers.map { "U" + $0 }.joined()
        }
        if !first.properties.isXIDStart { return "_" + joined }
        return taken.contains(joined) ? joined + suffix.prefix(1).uppercased() + suffix.dropFirst() : joined
    }

    /// Splits a name into lower-case words. Words are separated by characters other than letters and digits. A word
    /// also starts at a capital after a small letter or digit, and at the last capital of a run if a small letter
    /// follows.
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
    private static let initialisms: Set<String> = [
        "id", "ip", "url", "uuid", "http", "https", "json", "html", "api", "ui", "os",
    ]

    /// Names that generated code itself uses inside the plan's type.
    private static let takenTypes: Set<String> = [
        "String", "Int", "Double", "Bool", "Date", "Array", "Dictionary", "Optional", "Swift", "Foundation", "Penstock",
        "Analytics", "PropertyValue", "AnalyticsEvent", "EventSending", "Encodable", "Encoder", "CodingKey",
        "CodingKeys", "Hashable",
        "Sendable", "CaseIterable", "PropertyKey", "Self", "Type", "Protocol", "Any",
    ]

    /// Names that `AnalyticsEvent`, the compiler's conformances or the language give a type.
    private static let takenMembers: Set<String> = [
        "self", "init", "eventName", "namePolicy", "consentCategory", "encode", "hash", "hashValue", "rawValue",
        "allCases", "additionalProperties", "events", "some", "none", "any",
    ]

    /// Words that need backticks as names.
    private static let keywords: Set<String> = [
        "associatedtype", "as", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public",
        "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
        "try", "typealias", "var", "where", "while",
    ]
}
