import Glibc

/// The process's standard streams, for programs that people run. Any thread.
package enum StandardStream: Sendable {
    case input
    case output
    case error

    private var descriptor: Int32 {
        switch self {
        case .input: STDIN_FILENO
        case .output: STDOUT_FILENO
        case .error: STDERR_FILENO
        }
    }

    /// Whether a person reads or types here: the stream is a terminal.
    package var isTerminal: Bool { isatty(descriptor) == 1 }

    /// The width of the terminal; nil if the stream is none, or one that does not report its width.
    package var columns: Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Whether the stream is a pipe or a socket whose reader has closed its end. Does not wait.
    package var isClosedByReader: Bool {
        var state = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&state, 1, 0) == 1 && state.revents & Int16(POLLERR) != 0
    }

    /// Another descriptor of the same stream.
    package func duplicate() throws(SystemError) -> FileDescriptor { try .duplicate(of: descriptor) }

    /// Writes all bytes; waits while the reader is slow.
    /// - Throws: `SystemError`; `EPIPE` if the reader has closed its end (`isClosedByReader`).
    package func write(_ bytes: some Collection<UInt8>) throws(SystemError) {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw SystemError("write")
            }
        }
    }
}

extension SystemError {
    /// Nobody reads what was written: the reader of the pipe or socket has closed its end.
    package var isClosedByReader: Bool { code == EPIPE }
}
