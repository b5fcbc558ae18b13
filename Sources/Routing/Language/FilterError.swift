/// A fault in a filter, path or template that an operator wrote, with its position.
package struct FilterError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The offset of the fault in UTF-8 bytes from the start of the text, from 0.
    package var column: Int
    /// The length of the fault in bytes; 0 if something is missing at the end.
    package var length: Int
    /// What is wrong and what is expected, without a period at the end.
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

    /// This fault, in a text that has `columns` more bytes before it.
    func shifted(by columns: Int) -> FilterError {
        FilterError(column: column + columns, length: length, message: message, hint: hint)
    }
}
