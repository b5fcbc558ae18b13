import Events

/// A token of a filter, with its place in the text (UTF-8 bytes).
struct Token: Equatable {
    enum Kind: Equatable {
        case open, close, openList, closeList, comma
        case not, and, or, isIn
        case compare(Comparison)
        case string(String)
        case number(JSONNumber)
        case bool(Bool)
        case null
        /// A field, or the name of a function if a parenthesis follows. `escaped`: it contains a backslash, so it can
        /// only be a field.
        case word(FieldPath, escaped: Bool)
        case end
    }
    var kind: Kind
    var range: Range<Int>
}

/// An operator that compares two values.
enum Comparison: String, Sendable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
}
