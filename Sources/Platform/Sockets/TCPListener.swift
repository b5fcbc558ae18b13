import CLinux
import Glibc

/// Opens listening TCP sockets (tcp(7)). Clients are accepted with `FileDescriptor.accept`.
package enum TCPListener {
    /// Listens at an address. The socket is non-blocking and closed on exec. It listens again at once after a restart,
    /// also while old connections are in TIME_WAIT. An IPv6 socket takes no IPv4 connections, not even at `[::]`.
    ///
    /// - Parameters:
    ///   - address: with port 0, the kernel chooses a port; `FileDescriptor.localAddress` tells it.
    ///   - backlog: how many connections may wait to be accepted.
    package static func listen(
        at address: SocketAddress, backlog: Int32 = UnixListener.backlog
    ) throws(TCPListenerError) -> FileDescriptor {
        let bytes = address.host.bytes
        let span = bytes.span
        var port = address.port
        var call: UnsafePointer<CChar>?
        let number = unsafe span.withUnsafeBufferPointer { buffer in
            unsafe clinux_tcp_listener(buffer.baseAddress, &port, backlog, &call)
        }
        guard number >= 0 else {
            let code = errno
            let name = unsafe call.map { unsafe String(cString: $0) } ?? "socket"
            throw TCPListenerError(address: address, error: SystemError(name, address.description, code: code))
        }
        return FileDescriptor(owning: number)
    }
}

/// A TCP socket cannot be opened.
package struct TCPListenerError: Error, Sendable, Equatable, CustomStringConvertible {
    package var address: SocketAddress
    package var error: SystemError

    package var description: String {
        switch error.code {
        case EADDRINUSE:
            """
            \(error): another process listens there: find it with `ss -ltnp 'sport = :\(address.port)'` and stop it, \
            or choose another port
            """
        case EACCES where address.port < 1024:
            """
            \(error): a port below 1024 needs a right: choose a higher port, or add \
            AmbientCapabilities=CAP_NET_BIND_SERVICE and CapabilityBoundingSet=CAP_NET_BIND_SERVICE with `systemctl \
            edit penstock` and restart the service
            """
        case EACCES, EPERM:
            """
            \(error): the system forbids this port: see SocketBindDeny= and SocketBindAllow= with `systemctl show \
            penstock`
            """
        case EADDRNOTAVAIL:
            "\(error): this machine does not have the address: see `ip address`, or use 127.0.0.1"
        case EAFNOSUPPORT:
            """
            \(error): \(address.host.isIPv4 ? "IPv4" : "IPv6") is not available: under systemd, \
            RestrictAddressFamilies= must contain \(address.host.isIPv4 ? "AF_INET" : "AF_INET6")
            """
        default: error.description
        }
    }
}
