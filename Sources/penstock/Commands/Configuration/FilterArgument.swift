import ConfigurationSyntax
import Routing

/// Parses a filter from the command line. Its errors look like those of a configuration file.
enum FilterArgument {
    static func parse(_ text: String) throws -> Filter {
        do throws(FilterError) {
            let filter = try Filter(parsing: text)
            for advice in FieldAdvice().filter(text) { printError(diagnostic(.warning, advice, text)) }
            return filter
        } catch {
            throw Fault(description: diagnostic(.error, error, text))
        }
    }

    private static func diagnostic(_ severity: Diagnostic.Severity, _ error: FilterError, _ text: String) -> String {
        let bytes = text.utf8
        // A diagnostic counts characters, a filter error bytes. Several lines become one.
        let column = String(decoding: bytes.prefix(error.column), as: UTF8.self).unicodeScalars.count + 1
        let fault = String(decoding: bytes.dropFirst(error.column).prefix(error.length), as: UTF8.self)
        let line = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: " ")
        let place = Place(file: "--where", column: column, length: fault.unicodeScalars.count, text: line)
        return Diagnostic(severity, at: place, error.message, hint: error.hint).description
    }

    struct Fault: Error, CustomStringConvertible { let description: String }
}
