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
        let whole = subject.isEmpty ? "\(call): \(text)" : "\(call) \(subject): \(text)"
        return code == EROFS && Self.isService ? whole + ": " + Self.sandboxHint : whole
    }

    /// What to do about a path that is read-only for the service, though it is not for others.
    package static let sandboxHint = """
        the service's sandbox lets it write below a few directories alone. Add ReadWritePaths=DIRECTORY, which has to exist and belong \
        to the daemon's user, with `systemctl edit penstock`, and restart it
        """

    /// Whether systemd has started this process (systemd.exec(5)).
    private static let isService = unsafe getenv("INVOCATION_ID") != nil
}
