import Events

/// A field or a type that a filter mentions, with its place. The parser records mentions for `FieldAdvice`.
enum FilterMention {
    enum Use {
        /// The field stands alone, is compared with a value, or is the value that a function examines.
        case field
        /// The field is on the left of another field.
        case besideField
        /// A string is expected here: on the right of a field, or as a pattern. Its quotes are probably missing.
        case text
    }

    struct Field {
        var path: FieldPath
        /// In bytes of the filter's text.
        var range: Range<Int>
        /// A backslash precedes its first character.
        var isEscaped: Bool
        var use = Use.field
    }

    case field(Field)
    /// A string that `type` is compared with.
    case type(String, Range<Int>)
}
