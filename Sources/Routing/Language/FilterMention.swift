import Events

/// Something that a filter says of events, with its place: what the parser notes for those who give advice.
enum FilterMention {
    enum Use {
        /// It stands alone, is compared with a value, or is what a function looks at.
        case field
        /// On the left of another field.
        case besideField
        /// Where a text is to be expected: on the right of a field, or as a pattern.
        case text
    }

    struct Field {
        var path: FieldPath
        /// In bytes of the filter's text.
        var range: Range<Int>
        /// Its first character has a backslash before it.
        var isEscaped: Bool
        var use = Use.field
    }

    case field(Field)
    /// A text that an event's type is compared with.
    case type(String, Range<Int>)
}
