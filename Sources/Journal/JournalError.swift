import Platform

/// An error of the journal: what happened, and what to do next.
package struct JournalError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// Another process holds the directory.
        case locked
        /// Files are missing or damaged, and the journal must not make up their contents.
        case inconsistent
        /// A version wrote it whose format this version does not support.
        case unsupported
        case invalidOptions
        /// A system call failed; see `underlying`.
        case io
        /// A bound was reached.
        case full
    }

    package var code: Code
    package var message: String
    package var underlying: SystemError?

    init(_ code: Code, _ message: String, _ underlying: SystemError? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    /// - Parameter doing: the failed operation, such as "write the manifest" in "cannot write the manifest".
    init(_ doing: String, _ error: SystemError) {
        self.init(.io, "journal: cannot \(doing): \(error)", error)
    }

    package var description: String { message }
}

/// Runs `body` and throws its disk errors as journal errors.
func journal<Value>(
    _ doing: @autoclosure () -> String, _ body: () throws(SystemError) -> Value
) throws(JournalError) -> Value {
    do {
        return try body()
    } catch {
        throw JournalError(doing(), error)
    }
}
