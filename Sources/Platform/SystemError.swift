import Glibc

/// A failed system call: its name, its subject and errno.
package struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The system call's name, as in its man page.
    package var call: String
    /// The path or address that the call was about; empty if there is none.
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

    /// The file or directory does not exist.
    package var isMissing: Bool { code == ENOENT }

    /// The other end of a connection is closed.
    package var isDisconnected: Bool { code == EPIPE || code == ECONNRESET }

    /// The operation is not possible on this kind of file or filesystem.
    package var isUnsupported: Bool { code == EOPNOTSUPP || code == EINVAL }

    /// The caller may not do this here: no permission, or a filesystem mounted read-only.
    package var isForbidden: Bool { code == EACCES || code == EROFS }

    /// A file ended before what was asked for.
    package static func truncated(_ call: String, _ path: String) -> SystemError { SystemError(call, path, code: EIO) }

    /// A path lies on a filesystem that is mounted read-only.
    package static func readOnly(_ call: String, _ path: String) -> SystemError { SystemError(call, path, code: EROFS) }

    /// What to do about a path that only the service cannot write.
    package static let sandboxHint = """
        the service's sandbox makes it read-only. Add ReadWritePaths=DIRECTORY with `systemctl edit penstock` (the \
        directory must exist and belong to the daemon's user), and restart the service
        """

    /// Whether systemd started this process (systemd.exec(5)).
    private static let isService = unsafe getenv("INVOCATION_ID") != nil
}
