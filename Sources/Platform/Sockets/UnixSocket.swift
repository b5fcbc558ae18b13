import CLinux
import Glibc

/// The client's side of stream sockets in the filesystem. `UnixListener` is the server's side.
package enum UnixSocket {
    /// Connects. Blocks while the listener's backlog is full.
    /// - Parameter timeout: afterwards the call fails with EAGAIN; nil: no timeout.
    package static func connect(to path: String, timeout: Duration? = nil) throws(UnixSocketError) -> FileDescriptor {
        let address = try UnixAddress(path)
        let socket = try make(for: path)
        if let timeout, clinux_send_timeout(socket.raw, max(timeout.inNanoseconds / 1000, 1)) != 0 {
            throw .system(SystemError("setsockopt", path))
        }
        guard address.connect(socket) else { throw .system(SystemError("connect", path)) }
        return socket
    }

    static func make(for path: String) throws(UnixSocketError) -> FileDescriptor {
        let number = clinux_unix_stream_socket()
        guard number >= 0 else { throw .system(SystemError("socket", path)) }
        return FileDescriptor(owning: number)
    }
}

/// A Unix socket cannot be opened.
package enum UnixSocketError: Error, Sendable, Equatable, CustomStringConvertible {
    case pathTooLong(path: String)
    case pathHasNUL
    case notASocket(path: String)
    case inUse(path: String)
    case system(SystemError)

    package var description: String {
        switch self {
        case .pathTooLong(let path):
            "\(path): a socket's path has at most \(UnixListener.longestPath) bytes, this one \(path.utf8.count): "
                + "choose a shorter directory"
        case .pathHasNUL:
            "a socket's path is empty or has a NUL byte in it"
        case .notASocket(let path):
            "\(path) exists and is not a socket: Penstock does not replace it; move it away or choose another path"
        case .inUse(let path):
            "\(path): another process is listening there: stop it, or choose another path"
        case .system(let error):
            switch (error.call, error.code) {
            case ("connect", ENOENT), ("connect", ECONNREFUSED):
                "\(error): no process listens there: start the daemon, or give the path of another socket"
            case ("bind", ENOENT): "\(error): create its directory first"
            case ("chown", EPERM):
                """
                \(error): the daemon must be in that group itself; under systemd, let penstock.socket make the socket \
                (SocketGroup=), or add SupplementaryGroups=GROUP and SystemCallFilter=@chown with `systemctl edit \
                penstock`
                """
            case (_, EACCES), (_, EPERM):
                "\(error): see who may use the socket and its directory, or run as another user"
            default: error.description
            }
        }
    }
}

/// The address of a socket in the filesystem, validated for length.
struct UnixAddress {
    private var address = sockaddr_un()

    init(_ path: String) throws(UnixSocketError) {
        let bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0) else { throw .pathHasNUL }
        guard bytes.count <= UnixListener.longestPath else { throw .pathTooLong(path: path) }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    }

    /// - Returns: false on failure, with errno set.
    func bind(_ socket: borrowing FileDescriptor) -> Bool {
        unsafe withAddress { unsafe Glibc.bind(socket.raw, $0, $1) == 0 }
    }

    /// - Returns: false on failure, with errno set.
    func connect(_ socket: borrowing FileDescriptor) -> Bool {
        unsafe withAddress { unsafe Glibc.connect(socket.raw, $0, $1) == 0 }
    }

    private func withAddress(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Bool) -> Bool {
        unsafe withUnsafePointer(to: address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}

extension SystemError {
    /// The peer has dropped the connection.
    package var isReset: Bool { code == ECONNRESET }

    /// Why a client could not connect.
    package enum ConnectObstacle: Sendable {
        case nobodyListens
        case forbidden
        /// The listener accepted no connection in time.
        case timedOut
    }

    /// nil: none of the usual reasons; the error's text says more.
    package var connectObstacle: ConnectObstacle? {
        switch code {
        case ENOENT, ECONNREFUSED: .nobodyListens
        case EACCES: .forbidden
        case EAGAIN: .timedOut
        default: nil
        }
    }
}
