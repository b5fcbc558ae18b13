import Glibc

/// An open file descriptor with one owner. It is closed when the value is destroyed.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, for system calls made while this value lives.
    package let raw: Int32

    /// Takes ownership of `raw`.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "not a file descriptor: \(raw)")
        self.raw = raw
    }

    deinit { _ = Glibc.close(raw) }

    /// Gives up ownership: the caller must close the returned descriptor.
    package consuming func release() -> Int32 {
        let number = raw
        discard self
        return number
    }

    /// open(2) with O_CLOEXEC; retries after EINTR.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o640) throws(SystemError) -> FileDescriptor
    {
        while true {
            let number = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
            if number >= 0 { return FileDescriptor(owning: number) }
            if errno != EINTR { throw SystemError("open", path) }
        }
    }

    /// Opens a file or a named pipe for reading.
    package static func openForReading(_ path: String) throws(SystemError) -> FileDescriptor {
        try open(path, O_RDONLY)
    }

    /// Opens a file for reading. A named pipe would otherwise wait for its writer.
    package static func openWithoutWaiting(_ path: String) throws(SystemError) -> FileDescriptor {
        try open(path, O_RDONLY | O_NONBLOCK)
    }

    /// A second descriptor for the same open file, with O_CLOEXEC.
    package static func duplicate(of number: Int32) throws(SystemError) -> FileDescriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { throw SystemError("fcntl") }
        return FileDescriptor(owning: copy)
    }

    /// Reads up to `limit` bytes from the current position; empty at the end of the file.
    package func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            var got: Int
            repeat {
                got = unsafe Glibc.read(raw, buffer.baseAddress, buffer.count)
            } while got < 0 && errno == EINTR
            if got < 0 { failure = errno }
            initialized = max(got, 0)
        }
        if failure != 0 { throw SystemError("read", code: failure) }
        return bytes
    }

    /// Reads up to `count` bytes at a place (pread(2)). Fewer at the end of the file, none if it cannot be read.
    package func read(at place: UInt64, _ count: Int) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = unsafe max(0, pread(raw, buffer.baseAddress, count, off_t(truncatingIfNeeded: place)))
        }
    }

    /// The size of a regular file in bytes; nil for any other file (a pipe, a terminal).
    package func size() throws(SystemError) -> Int? {
        var status = stat()
        guard unsafe fstat(raw, &status) == 0 else { throw SystemError("fstat") }
        return status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    }
}
