import Glibc

/// A connected Unix domain stream socket, for clients: commands and tests. One thread at a time.
package final class UnixStream {
    private let descriptor: FileDescriptor

    /// Connects. Blocks while the listener's backlog is full.
    /// - Parameter timeout: afterwards the call fails with EAGAIN; nil: no timeout.
    package init(connectingTo path: String, timeout: Duration? = nil) throws(UnixSocketError) {
        descriptor = try UnixSocket.connect(to: path, timeout: timeout)
    }

    /// Whether the socket can be read or written now.
    package struct Readiness: Sendable {
        package var canRead: Bool
        package var canWrite: Bool
    }

    /// Waits until the socket is readable or has ended or, if requested, is writable.
    /// - Parameter timeout: nil: no timeout.
    package func wait(toWrite: Bool, timeout: Duration? = nil) throws(SystemError) -> Readiness {
        var entry = pollfd(fd: descriptor.raw, events: Int16(POLLIN) | (toWrite ? Int16(POLLOUT) : 0), revents: 0)
        let milliseconds = timeout.map { Int32(clamping: $0.inNanoseconds / 1_000_000) } ?? -1
        while unsafe poll(&entry, 1, milliseconds) < 0 {
            if errno != EINTR { throw SystemError("poll") }
            entry.revents = 0
        }
        let hung = entry.revents & Int16(POLLHUP | POLLERR) != 0
        return Readiness(
            canRead: hung || entry.revents & Int16(POLLIN) != 0, canWrite: entry.revents & Int16(POLLOUT) != 0)
    }

    /// Waits until the socket or `input` is readable or has ended.
    package func wait(
        or input: borrowing FileDescriptor, timeout: Duration
    ) throws(SystemError) -> (canRead: Bool, inputCanRead: Bool) {
        let events = Int16(POLLIN)
        var entries = [
            pollfd(fd: descriptor.raw, events: events, revents: 0), pollfd(fd: input.raw, events: events, revents: 0),
        ]
        while unsafe poll(&entries, 2, Int32(clamping: timeout.inNanoseconds / 1_000_000)) < 0 {
            if errno != EINTR { throw SystemError("poll") }
            entries[0].revents = 0
            entries[1].revents = 0
        }
        return (entries[0].revents != 0, entries[1].revents != 0)
    }

    /// Sends as many bytes as the socket takes without blocking.
    /// - Returns: how many bytes were sent; 0: the socket takes none now.
    package func write(_ bytes: Span<UInt8>) throws(SystemError) -> Int {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        while true {
            let sent = unsafe bytes.withUnsafeBufferPointer {
                unsafe send(descriptor.raw, $0.baseAddress, $0.count, flags)
            }
            if sent >= 0 { return sent }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { throw SystemError("send") }
        }
    }

    /// Reads up to `limit` bytes; blocks while there are none.
    /// - Returns: empty at the end of the stream.
    package func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        var failure: Int32 = 0
        var got = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
            repeat {
                got = unsafe recv(descriptor.raw, buffer.baseAddress, buffer.count, 0)
            } while got < 0 && errno == EINTR
            if got < 0 { failure = errno }
            initialized = max(got, 0)
        }
        if got < 0 && failure != ECONNRESET { throw SystemError("recv", code: failure) }
        return bytes
    }

    /// Shuts down the sending side. The peer's remaining bytes can still be read.
    package func finishWriting() {
        shutdown(descriptor.raw, Int32(SHUT_WR))
    }
}
