/// A regular expression (RE2) that must match a whole text.
package struct TextPattern: Sendable, Equatable {
    package let text: String
    private let expression: RegularExpression

    /// - Throws: the fault of the expression.
    package init(_ text: String) throws(FilterError) {
        // Compiled on its own first, so that an error has the right column.
        _ = try RegularExpression(text)
        expression = try RegularExpression("\\A(?:\(text))\\z")
        self.text = text
    }

    package func matches(_ text: String) -> Bool { matches(text.utf8.span) }

    /// An empty text matches nothing.
    func matches(_ text: Span<UInt8>) -> Bool { expression.find(in: text, from: 0) != nil }

    package static func == (left: TextPattern, right: TextPattern) -> Bool { left.text == right.text }
}
