import ArgumentParser

/// How a command can end, said once: for its help, and so for its man page, and for the code that ends with it.
struct Endings: ExpressibleByDictionaryLiteral, CustomStringConvertible {
    private let meanings: [(status: Int32, meaning: String)]

    init(dictionaryLiteral meanings: (Int32, String)...) {
        self.meanings = meanings.map { (status: $0.0, meaning: $0.1) }
    }

    /// The last sentence of a command's help.
    var description: String {
        "Exit status: " + meanings.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ") + "."
    }

    /// To be thrown.
    subscript(status: Int32) -> ExitCode {
        precondition(meanings.contains { $0.status == status }, "a command ends with \(status), and does not say so")
        return ExitCode(status)
    }
}
