import ConfigurationLanguage
import Routing

/// A filter that is given on the command line: what is wrong with it is told as a file's errors are.
enum FilterArgument {
    static func parse(_ text: String) throws -> Filter {
        do throws(FilterError) {
            return try Filter(parsing: text)
        } catch {
            let bytes = text.utf8
            // Columns are characters, the error counts bytes; several lines become one.
            let column = String(decoding: bytes.prefix(error.column), as: UTF8.self).unicodeScalars.count + 1
            let fault = String(decoding: bytes.dropFirst(error.column).prefix(error.length), as: UTF8.self)
            let line = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: " ")
            let place = Place(file: "--where", column: column, length: fault.unicodeScalars.count, text: line)
            throw Fault(description: Diagnostic(.error, at: place, error.message, hint: error.hint).description)
        }
    }

    struct Fault: Error, CustomStringConvertible { let description: String }
}
