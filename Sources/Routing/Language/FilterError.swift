/// What is wrong with a filter, a path or a template that an operator wrote, and where.
package struct FilterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// 0-based, in UTF-8 bytes from the start of the text.
    package var column: Int
    /// Bytes that the fault covers; 0 where something is missing at the end.
    package var length: Int
    /// What is wrong and what was expected, without a full stop.
    package var message: String
    /// What to write instead, if there is a good guess.
    package var hint: String?

    package init(column: Int, length: Int, message: String, hint: String? = nil) {
        self.column = column
        self.length = length
        self.message = message
        self.hint = hint
    }

    init(_ range: Range<Int>, _ message: String, hint: String? = nil) {
        self.init(column: range.lowerBound, length: range.count, message: message, hint: hint)
    }

    package var description: String {
        "column \(column + 1): \(message)" + (hint.map { " (\($0))" } ?? "")
    }

    /// The same fault in a text that has `columns` more bytes before it.
    func shifted(by columns: Int) -> FilterError {
        FilterError(column: column + columns, length: length, message: message, hint: hint)
    }
}
