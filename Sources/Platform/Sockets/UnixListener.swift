import Glibc

/// Opens listening stream sockets in the filesystem (unix(7)).
package enum UnixListener {
    /// The longest path, in bytes, that fits a socket address together with its final NUL.
    package static let longestPath = 107

    /// The default number of connections that may wait to be accepted. The kernel limits it to net.core.somaxconn.
    package static let backlog: Int32 = 4096

    /// Creates a socket at `path` and listens on it. At no moment is it open to anybody whom `mode` and `group`
    /// exclude. Blocks on the filesystem.
    ///
    /// A stale socket file is replaced, but only if it is a socket and no process listens on it.
    ///
    /// - Parameters:
    ///   - mode: permission bits. Write permission allows connecting.
    ///   - group: the id of the file's group; nil: the process's own group.
    ///   - backlog: how many connections may wait to be accepted.
    package static func listen(
        at path: String, mode: UInt32, group: UInt32? = nil, backlog: Int32 = backlog
    ) throws(UnixSocketError) -> FileDescriptor {
        let address = try UnixAddress(path)
        try removeStaleSocket(at: path, address, probe: try UnixSocket.make(for: path))
        let socket = try UnixSocket.make(for: path)
        try bind(socket, at: path, address, mode: mode, group: group) { () throws(UnixSocketError) in
            if Glibc.listen(socket.raw, backlog) != 0 { throw .system(SystemError("listen", path)) }
        }
        return socket
    }

    /// Binds a socket to `path`. Nobody can connect before its mode and group are set.
    /// - Parameter complete: the last step. If it fails, the socket's file is removed.
    static func bind(
        _ socket: borrowing FileDescriptor, at path: String, _ address: UnixAddress, mode: UInt32, group: UInt32?,
        complete: () throws(UnixSocketError) -> Void = {}
    ) throws(UnixSocketError) {
        // Linux creates the file with the mode of the socket itself. With mode 0 nobody can connect until owner and
        // mode are set. (umask(2) would have the same effect, but on every thread.)
        guard fchmod(socket.raw, 0) == 0 else { throw .system(SystemError("fchmod", path)) }
        guard address.bind(socket) else { throw .system(SystemError("bind", path)) }
        do throws(UnixSocketError) {
            try setAccess(of: path, mode: mode, group: group)
            try complete()
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Changes who may connect to the daemon's own socket at `path`. Parameters as in `listen`. Open connections stay
    /// open.
    package static func setAccess(of path: String, mode: UInt32, group: UInt32?) throws(UnixSocketError) {
        // Setting the group that the file already has needs no chown(2), which a service may not be allowed to call.
        if let group, group != status(path)?.st_gid, unsafe lchown(path, uid_t.max, group) != 0 {
            throw .system(SystemError("chown", path))
        }
        if unsafe chmod(path, mode & 0o777) != 0 { throw .system(SystemError("chmod", path)) }
    }

    /// The path to which a listening Unix socket is bound; nil if it is not in the filesystem.
    package static func path(of descriptor: Int32) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let answer = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        guard answer == 0, address.sun_family == AF_UNIX, Int(length) > start else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &address) { unsafe Array($0[start..<min(Int(length), $0.count)]) }
        let path = bytes.prefix { $0 != 0 }
        return path.isEmpty ? nil : String(decoding: path, as: UTF8.self)
    }

    /// Changes how many connections may wait to be accepted. Connections that already wait stay.
    package static func setBacklog(of listener: borrowing FileDescriptor, _ backlog: Int32 = backlog)
        throws(SystemError)
    {
        guard Glibc.listen(listener.raw, backlog) == 0 else { throw SystemError("listen") }
    }

    /// Whether a connection waits to be accepted.
    package static func isAwaited(_ listener: borrowing FileDescriptor) -> Bool {
        var entry = pollfd(fd: listener.raw, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLIN) != 0
    }

    /// Removes a listener's socket file. A file of another type stays.
    package static func remove(_ path: String) {
        if isSocket(path) == true { unlink(path) }
    }

    /// - Parameter probe: a new socket of the kind that will be bound.
    static func removeStaleSocket(
        at path: String, _ address: UnixAddress, probe: borrowing FileDescriptor
    ) throws(UnixSocketError) {
        guard let isSocket = isSocket(path) else { return }
        guard isSocket else { throw .notASocket(path: path) }
        // If the backlog is full, connect would block. That also proves that a process listens.
        _ = fcntl(probe.raw, F_SETFL, O_NONBLOCK)
        // A socket of another kind that a process has open gives EPROTOTYPE.
        if address.connect(probe) || [EAGAIN, EINPROGRESS, EPROTOTYPE].contains(errno) { throw .inUse(path: path) }
        switch errno {
        case ECONNREFUSED:
            if unsafe Glibc.unlink(path) != 0 && errno != ENOENT { throw .system(SystemError("unlink", path)) }
        case ENOENT: return
        case let code: throw .system(SystemError("connect", path, code: code))
        }
    }

    /// nil: the path does not exist.
    package static func isSocket(_ path: String) -> Bool? {
        status(path).map { $0.st_mode & S_IFMT == S_IFSOCK }
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    private static func unlink(_ path: String) { _ = unsafe Glibc.unlink(path) }
}
