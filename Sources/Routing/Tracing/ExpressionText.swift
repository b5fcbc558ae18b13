import Events

extension Expression: CustomStringConvertible {
    /// As one would write it: the same filter, with one space between words.
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let number): number.json
        case .string(let text): text.contains("\"") ? "'\(text)'" : "\"\(text)\""
        case .list(let items): "[\(items.map(\.description).joined(separator: ", "))]"
        case .path(let path): path.description
        case .not(let operand): "!" + (operand.isOneWord ? operand.description : "(\(operand))")
        case .all(let operands): operands.map(\.asOperand).joined(separator: " and ")
        case .any(let operands):
            operands.map { if case .all = $0 { $0.description } else { $0.asOperand } }.joined(separator: " or ")
        case .compare(let comparison, let left, let right): "\(left.asOperand) \(comparison.rawValue) \(right.asOperand)"
        case .isIn(let item, let list): "\(item.asOperand) in \(list.asOperand)"
        case .call(let function, let arguments):
            "\(function.rawValue)(\(arguments.map(\.description).joined(separator: ", ")))"
        }
    }

    private var isOneWord: Bool {
        switch self {
        case .path, .call, .bool, .null, .number, .string, .not: true
        case .list, .all, .any, .compare, .isIn: false
        }
    }

    /// In parentheses where something else could take a part of it. A comparison inside `and` needs none.
    private var asOperand: String {
        switch self {
        case .all, .any: "(\(self))"
        default: description
        }
    }
}
