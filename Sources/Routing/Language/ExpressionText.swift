import Events

extension Expression: CustomStringConvertible {
    /// The expression in the filter language. Parsing this text gives the same expression.
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let number): number.json
        case .string(let text): text.contains("\"") ? "'\(text)'" : "\"\(text)\""
        case .list(let items): "[\(items.map(\.description).joined(separator: ", "))]"
        case .path(let path): path.description
        case .not(let operand): "!" + operand.operand
        case .all(let operands): operands.map(\.term).joined(separator: " and ")
        case .any(let operands):
            operands.map { if case .any = $0 { $0.operand } else { $0.description } }.joined(
                separator: " or ")
        case .compare(let comparison, let left, let right): "\(left.operand) \(comparison.rawValue) \(right.operand)"
        case .isIn(let item, let list): "\(item.operand) in \(list.operand)"
        case .call(let function, let arguments):
            "\(function.rawValue)(\(arguments.map(\.description).joined(separator: ", ")))"
        }
    }

    /// The text as an operand of `and`.
    private var term: String {
        switch self {
        case .all, .any: operand
        default: description
        }
    }

    /// The text as an operand of anything else: in parentheses if it contains operators.
    private var operand: String {
        switch self {
        case .null, .bool, .number, .string, .list, .path, .call: description
        case .not, .all, .any, .compare, .isIn: "(\(description))"
        }
    }
}
