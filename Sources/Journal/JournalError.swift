import Platform

/// Why the journal could not do what it was asked: what happened, and what to do next.
package struct JournalError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// Another process holds the directory.
        case locked
        /// Files are missing or damaged that nothing may be made up for.
        case inconsistent
        /// Written by a version that this one does not understand.
        case unsupported
        case invalidOptions
        /// A system call failed; `underlying` says which.
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

    /// - Parameter doing: "write the manifest", as in "cannot write the manifest".
    init(_ doing: String, _ error: SystemError) {
        self.init(.io, "journal: cannot \(doing): \(error)", error)
    }

    package var description: String { message }
}

/// Runs `body` with the disk's errors told as the journal's.
func journal<Value>(
    _ doing: @autoclosure () -> String, _ body: () throws(SystemError) -> Value
) throws(JournalError) -> Value {
    do {
        return try body()
    } catch {
        throw JournalError(doing(), error)
    }
}
