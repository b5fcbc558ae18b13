import Events

/// A parsed filter. `and` and `or` hold all their operands in one list, so that a long chain is not deep.
indirect enum Expression: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    /// Holds only the four kinds of literal above.
    case list([Expression])
    case path(FieldPath)
    case not(Expression)
    case all([Expression])
    case any([Expression])
    case compare(Comparison, Expression, Expression)
    /// The right side is a list or a path.
    case isIn(Expression, Expression)
    case call(FilterFunction, [Expression])

    /// The type of the value, as far as the text alone determines it.
    var type: ValueType {
        switch self {
        case .null: .null
        case .bool, .not, .all, .any, .compare, .isIn: .bool
        case .number: .number
        case .string: .string
        case .list: .list
        case .path: .unknown
        case .call(let function, _): function.result
        }
    }
}

/// A type of the language. `unknown`: only the event determines it.
enum ValueType: String, Sendable {
    case null, bool, number, string, list, unknown

    /// The type with its article, for messages.
    var noun: String {
        switch self {
        case .null: "null"
        case .unknown: "a field"
        default: "a \(rawValue)"
        }
    }
}

enum FilterFunction: String, Sendable, CaseIterable {
    case contains, match
    case length
    case lowercase, uppercase, snakecase, kebabcase, titlecase
    case typeof
    case bool, string, number

    /// The names of the parameters, for messages. There is one for each argument.
    var parameters: [String] {
        switch self {
        case .contains: ["text", "part"]
        case .match: ["text", "pattern"]
        case .length, .typeof, .bool, .string, .number: ["value"]
        case .lowercase, .uppercase, .snakecase, .kebabcase, .titlecase: ["text"]
        }
    }

    var result: ValueType {
        switch self {
        case .contains, .match, .bool: .bool
        case .length, .number: .number
        case .lowercase, .uppercase, .snakecase, .kebabcase, .titlecase, .typeof, .string: .string
        }
    }

    /// Whether it accepts only strings and null.
    var takesText: Bool {
        switch self {
        case .contains, .match, .lowercase, .uppercase, .snakecase, .kebabcase, .titlecase: true
        case .length, .typeof, .bool, .string, .number: false
        }
    }

    var signature: String { "\(rawValue)(\(parameters.joined(separator: ", ")))" }
}
