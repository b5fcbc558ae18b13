import ArgumentParser

/// The exit statuses of a command, declared once for its help, its man page and its code.
struct ExitCodes: ExpressibleByDictionaryLiteral, CustomStringConvertible {
    private let meanings: [(status: Int32, meaning: String)]

    init(dictionaryLiteral meanings: (Int32, String)...) {
        self.meanings = meanings.map { (status: $0.0, meaning: $0.1) }
    }

    /// The paragraph of a command's help that lists its exit statuses. The man page finds it by its first words.
    var description: String {
        "Exit status: " + meanings.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ") + "."
    }

    /// The error to throw to exit with `status`.
    /// - Precondition: the status is declared.
    subscript(status: Int32) -> ExitCode {
        precondition(meanings.contains { $0.status == status }, "the exit status \(status) is not declared")
        return ExitCode(status)
    }
}
