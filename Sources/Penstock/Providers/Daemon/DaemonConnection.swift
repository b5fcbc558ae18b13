#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// System calls for a Unix domain socket that never blocks and never raises SIGPIPE. The caller owns the descriptor.
enum DaemonConnection {
    /// The result of a read or a write.
    enum Transfer {
        case bytes(Int)
        case wouldBlock
        case ended(String)
    }

    /// Opens a socket without connecting it. Returns a negative number on failure, with the reason in errno.
    static func open() -> Int32 {
        #if canImport(Darwin)
            let number = socket(AF_UNIX, SOCK_STREAM, 0)
            if number >= 0 {
                var on: Int32 = 1
                unsafe setsockopt(number, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
            }
        #elseif canImport(Musl) || canImport(Android)
            let number = socket(AF_UNIX, Int32(SOCK_STREAM), 0)
        #else
            let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        if number >= 0 {
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            _ = fcntl(number, F_SETFL, O_NONBLOCK)
        }
        return number
    }

    /// - Returns: The reason why the socket cannot be connected, and what to do; nil on success.
    static func connect(_ number: Int32, to path: String) -> String? {
        guard number >= 0 else { return "cannot open a socket: \(systemErrorText(errno))" }
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        let longest = MemoryLayout.size(ofValue: address.sun_path) - 1
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count <= longest else {
            return "\(path) is not a valid socket path: it must have 1 to \(longest) bytes, none of them 0"
        }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        let result = unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe systemConnect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result != 0 else { return nil }
        let code = errno
        switch code {
        case ENOENT, ECONNREFUSED:
            return "no daemon listens on \(path): start it (systemctl start penstock), or set PENSTOCK_SOCKET"
        case EACCES, EPERM:
            return "\(path): \(systemErrorText(code)): join the group that owns the socket (ls -l \(path))"
        default: return "\(path): \(systemErrorText(code))"
        }
    }

    static func send(_ bytes: [UInt8], from start: Int, to number: Int32) -> Transfer {
        #if canImport(Darwin)
            let flags = MSG_DONTWAIT
        #else
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        #endif
        let count = unsafe bytes.withUnsafeBytes { buffer in
            unsafe systemSend(number, buffer.baseAddress?.advanced(by: start), buffer.count - start, flags)
        }
        return transfer(count)
    }

    /// Reads into the beginning of the buffer.
    static func receive(into buffer: inout [UInt8], from number: Int32) -> Transfer {
        let size = buffer.count
        let count = unsafe recv(number, &buffer, size, Int32(MSG_DONTWAIT))
        return count == 0 ? .ended("the daemon closed the connection") : transfer(count)
    }

    private static func transfer(_ count: Int) -> Transfer {
        if count >= 0 { return .bytes(count) }
        let code = errno
        return code == EAGAIN || code == EWOULDBLOCK || code == EINTR ? .wouldBlock : .ended(systemErrorText(code))
    }

    /// Waits until the connection is ready or the worker is woken.
    /// - Parameters:
    ///   - number: The connection; negative if there is none.
    ///   - wake: The reading end of the wake pipe; negative to ignore it.
    ///   - milliseconds: The timeout; negative to wait without one.
    /// - Returns: What the connection is ready for.
    static func wait(_ number: Int32, toWrite: Bool, wake: Int32, milliseconds: Int32) -> (
        canRead: Bool, canWrite: Bool
    ) {
        var entries = [
            pollfd(fd: number, events: Int16(POLLIN) | (toWrite ? Int16(POLLOUT) : 0), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        guard unsafe poll(&entries, 2, milliseconds) > 0 else { return (false, false) }
        if entries[1].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 64)
            while unsafe read(wake, &bytes, bytes.count) == bytes.count {}
        }
        let connection = Int32(entries[0].revents)
        return (connection & Int32(POLLIN | POLLHUP | POLLERR) != 0, connection & Int32(POLLOUT | POLLERR) != 0)
    }
}

private func systemConnect(_ number: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    unsafe connect(number, address, size)
}

private func systemSend(_ number: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    unsafe send(number, bytes, count, flags)
}
