import CLinux
import Glibc

/// Opens datagram sockets in the filesystem (unix(7)).
package enum DatagramSocket {
    /// Creates a socket at `path` that receives messages. Parameters, access and stale sockets: as in
    /// `UnixListener.listen`. Each message carries its sender's credentials. Blocks on the filesystem.
    package static func bind(
        at path: String, mode: UInt32, group: UInt32? = nil
    ) throws(UnixSocketError) -> FileDescriptor {
        let address = try UnixAddress(path)
        try UnixListener.removeStaleSocket(at: path, address, probe: try make(for: path))
        let socket = try make(for: path)
        do throws(SystemError) {
            // Before the socket has a name: a message that arrives earlier would have no credentials.
            try socket.receiveCredentials()
        } catch {
            throw .system(error)
        }
        try UnixListener.bind(socket, at: path, address, mode: mode, group: group)
        return socket
    }

    /// A socket whose messages (`FileDescriptor.transmit`) go to the one at `path`. For clients.
    package static func connect(to path: String) throws(UnixSocketError) -> FileDescriptor {
        let address = try UnixAddress(path)
        let socket = try make(for: path)
        guard address.connect(socket) else { throw .system(SystemError("connect", path)) }
        return socket
    }

    private static func make(for path: String) throws(UnixSocketError) -> FileDescriptor {
        let number = clinux_unix_datagram_socket()
        guard number >= 0 else { throw .system(SystemError("socket", path)) }
        return FileDescriptor(owning: number)
    }
}

extension FileDescriptor {
    /// Makes the kernel attach the sender's credentials to each message (SO_PASSCRED, unix(7)). A message that was sent
    /// to a named socket before this call has none.
    package func receiveCredentials() throws(SystemError) {
        guard clinux_pass_credentials(raw) == 0 else { throw SystemError("setsockopt", "SO_PASSCRED") }
    }
}
