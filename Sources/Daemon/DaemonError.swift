/// What keeps the daemon from doing what it was asked: a sentence that says where, what, and what
/// to do.
package struct DaemonError: Error, Sendable, Equatable, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}

/// All that is wrong at once; at least one.
package struct DaemonErrors: Error, Sendable, Equatable, CustomStringConvertible {
    package var errors: [DaemonError]

    init(_ errors: [DaemonError]) {
        self.errors = errors
    }

    package var description: String { errors.map(\.description).joined(separator: "\n") }
}
