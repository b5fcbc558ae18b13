/// What a whole text has to look like, as a regular expression (RE2).
package struct TextPattern: Sendable, Equatable {
    package let text: String
    private let expression: RegularExpression

    /// - Throws: what is wrong with the expression.
    package init(_ text: String) throws(FilterError) {
        // On its own first, so that a fault is told at its place.
        _ = try RegularExpression(text)
        expression = try RegularExpression("\\A(?:\(text))\\z")
        self.text = text
    }

    package func matches(_ text: String) -> Bool { matches(text.utf8.span) }

    /// An empty text matches nothing.
    func matches(_ text: Span<UInt8>) -> Bool { expression.find(in: text, from: 0) != nil }

    package static func == (left: TextPattern, right: TextPattern) -> Bool { left.text == right.text }
}
