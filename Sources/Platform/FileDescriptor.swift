import Glibc

/// An open file descriptor with one owner, closed when the owner is done with it.
package struct FileDescriptor: ~Copyable, Sendable {
    /// For calls made while this value lives.
    package let raw: Int32

    /// Takes ownership of `raw`.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "not a file descriptor: \(raw)")
        self.raw = raw
    }

    deinit { _ = Glibc.close(raw) }

    /// Gives the ownership away: whoever takes the number closes it.
    package consuming func release() -> Int32 {
        let number = raw
        discard self
        return number
    }

    /// open(2) with O_CLOEXEC, again after EINTR.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o640) throws(SystemError) -> FileDescriptor {
        while true {
            let number = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
            if number >= 0 { return FileDescriptor(owning: number) }
            if errno != EINTR { throw SystemError("open", path) }
        }
    }
}
