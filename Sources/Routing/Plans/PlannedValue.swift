import Events

/// The plan for one value.
package final class PlannedValue: Sendable {
    package enum Rule: Sendable {
        case any
        case string
        case choice([String])
        case pattern(String)
        case number(isInteger: Bool, choices: [String]?, minimum: String?, maximum: String?)
        case boolean
        case dateTime
        case array(of: PlannedValue)
        case object(PlannedObject)
    }

    enum Test: Sendable {
        case any
        case string
        case choice(NumberedNames)
        case pattern(RegularExpression)
        case number(PlannedNumber)
        case boolean
        case dateTime
        case array(PlannedValue)
        case object(PlannedObject)
    }

    let test: Test
    /// Description of bounded length: "one of EUR, USD".
    package let expected: String

    /// - Throws: if a regular expression is invalid.
    package init(_ rule: Rule) throws(FilterError) {
        switch rule {
        case .any: (test, expected) = (.any, "any value")
        case .string: (test, expected) = (.string, "a string")
        case .choice(let choices): (test, expected) = (.choice(NumberedNames(choices)), Self.oneOf(choices))
        case .pattern(let text):
            (test, expected) = (.pattern(try RegularExpression(text)), "a string that matches \(Self.short(text, 80))")
        case .number(let isInteger, let choices, let minimum, let maximum):
            let number = PlannedNumber(isInteger: isInteger, choices: choices, minimum: minimum, maximum: maximum)
            (test, expected) = (.number(number), choices.map(Self.oneOf) ?? number.expected(minimum, maximum))
        case .boolean: (test, expected) = (.boolean, "a boolean")
        case .dateTime: (test, expected) = (.dateTime, "a date and time such as 2026-01-31T12:00:00Z")
        case .array(let items): (test, expected) = (.array(items), "an array")
        case .object(let object): (test, expected) = (.object(object), "an object")
        }
    }

    private static func oneOf(_ choices: [String]) -> String {
        let shown = choices.prefix(8).map { short($0, 40) }.joined(separator: ", ")
        return "one of \(shown)" + (choices.count > 8 ? " and \(choices.count - 8) more" : "")
    }

    static func short(_ text: String, _ limit: Int) -> String {
        text.unicodeScalars.count <= limit
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit))) + "…"
    }
}

/// The plan for a number.
struct PlannedNumber: Sendable {
    let isInteger: Bool
    let choices: [JSONNumber]?
    let minimum: JSONNumber?
    let maximum: JSONNumber?

    init(isInteger: Bool, choices: [String]?, minimum: String?, maximum: String?) {
        self.isInteger = isInteger
        self.choices = choices?.compactMap { JSONNumber($0) }
        self.minimum = minimum.flatMap { JSONNumber($0) }
        self.maximum = maximum.flatMap { JSONNumber($0) }
    }

    func expected(_ minimum: String?, _ maximum: String?) -> String {
        let what = isInteger ? "an integer" : "a number"
        return switch (minimum, maximum) {
        case (nil, nil): what
        case (let least?, nil): "\(what), \(least) or greater"
        case (nil, let greatest?): "\(what), \(greatest) or less"
        case (let least?, let greatest?): "\(what) from \(least) to \(greatest)"
        }
    }

    func holds(_ text: Span<UInt8>) -> Bool {
        guard let number = JSONNumber(text) else { return false }
        if isInteger, case .real(let value) = number, value.rounded() != value { return false }
        if let minimum, number < minimum { return false }
        if let maximum, number > maximum { return false }
        guard let choices else { return true }
        for choice in choices where choice == number { return true }
        return false
    }
}
