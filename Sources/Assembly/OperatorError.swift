/// An error for the operator: where it is, what is wrong, and what to do.
package struct OperatorError: Error, Sendable, Equatable, CustomStringConvertible {
    package var description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// All errors at once; at least one.
package struct OperatorErrors: Error, Sendable, Equatable, CustomStringConvertible {
    package var errors: [OperatorError]

    package init(_ errors: [OperatorError]) {
        self.errors = errors
    }

    package var description: String { errors.map(\.description).joined(separator: "\n") }
}
