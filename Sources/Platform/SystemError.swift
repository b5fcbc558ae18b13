import Glibc

/// A system call that failed: which, on what, and why.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system call's name, as in its man page.
    package var call: String
    /// What it was about: a path, an address; empty where there is nothing to name.
    package var subject: String
    /// errno(3).
    package var code: Int32

    package init(_ call: String, _ subject: String = "", code: Int32 = errno) {
        self.call = call
        self.subject = subject
        self.code = code
    }

    package var description: String {
        let text = unsafe String(cString: strerror(code))
        return subject.isEmpty ? "\(call): \(text)" : "\(call) \(subject): \(text)"
    }
}
