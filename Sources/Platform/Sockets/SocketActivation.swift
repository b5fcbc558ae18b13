import CSystemd
import Glibc
import Synchronization

/// Sockets that systemd opened for the daemon and keeps open across restarts (sd_listen_fds(3)). Connections and
/// messages that arrive during a restart wait in them, and none is refused.
///
/// Sockets are identified by name (FileDescriptorName= in the socket unit). The original descriptors stay open as long
/// as this value lives: a source that one reload removes and a later one restores finds its socket again. Any thread.
package final class SocketActivation: Sendable {
    /// The end of a datagram socket's name. Before it stands the name of the source.
    package static let datagramSuffix = ".datagram"
    /// The same of a TCP socket.
    package static let tcpSuffix = ".http"

    /// A descriptor number and the path on which it listens.
    private struct Inherited {
        var descriptor: Int32
        var path: String
    }

    /// The beginning of the names of descriptors that an earlier process of this service has left to this one
    /// (`ServiceNotifier.keep`). No source has such a name.
    package static let keptPrefix = "@"

    private let sockets: [String: [Inherited]]
    /// Descriptors of TCP sockets. A unit may have one for IPv4 and one for IPv6 under one name.
    private let tcp: [String: [Int32]]
    private let kept: Mutex<[String: Int32]>

    /// Takes the descriptors that were passed to this process. Removes the variables that describe them from the
    /// environment, so that no child process claims them. Call in main before other threads are created.
    ///
    /// - Throws: if one of them is not a listening Unix stream socket or, for a name with `datagramSuffix`, not a Unix
    ///   datagram socket or, for a name with `tcpSuffix`, not a listening TCP socket.
    package convenience init() throws(SocketActivationError) {
        var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = unsafe sd_listen_fds_with_names(1, &list)
        defer {
            if let list = unsafe list {
                var next = unsafe list
                while let name = unsafe next.pointee {
                    unsafe free(name)
                    unsafe next += 1
                }
                unsafe free(list)
            }
        }
        if count < 0 { throw .unreadable(SystemError("sd_listen_fds_with_names", code: -count)) }
        var passed: [(name: String, descriptor: Int32)] = []
        for index in 0..<Int(count) {
            // The list has `count` entries, one name for each descriptor.
            let name = unsafe list.flatMap { unsafe $0[index] }.map { unsafe String(cString: $0) }
            passed.append((name ?? "unknown", SD_LISTEN_FDS_START + Int32(index)))
        }
        try self.init(owning: passed)
    }

    /// Takes ownership of the descriptors, even if it throws.
    package init(owning passed: [(name: String, descriptor: Int32)]) throws(SocketActivationError) {
        var sockets: [String: [Inherited]] = [:]
        var tcp: [String: [Int32]] = [:]
        var kept: [String: Int32] = [:]
        for (name, descriptor) in passed where name.hasPrefix(Self.keptPrefix) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            if let other = kept.updateValue(descriptor, forKey: name) { close(other) }
        }
        self.kept = Mutex(kept)
        for (name, descriptor) in passed where !name.hasPrefix(Self.keptPrefix) {
            // libsystemd sets this too; here it also covers sockets that a test passes.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let isTCP = name.hasSuffix(Self.tcpSuffix)
            let isRight =
                if isTCP {
                    sd_is_socket_inet(descriptor, AF_UNSPEC, Int32(SOCK_STREAM.rawValue), 1, 0) > 0
                } else if name.hasSuffix(Self.datagramSuffix) {
                    sd_is_socket_unix(descriptor, Int32(SOCK_DGRAM.rawValue), -1, nil, 0) > 0
                } else {
                    sd_is_socket_unix(descriptor, Int32(SOCK_STREAM.rawValue), 1, nil, 0) > 0
                }
            guard isRight else {
                for (_, number) in passed { close(number) }
                self.kept.withLock { $0 = [:] }
                self.sockets = [:]
                self.tcp = [:]
                throw .wrongKind(name: name)
            }
            if isTCP {
                tcp[name, default: []].append(descriptor)
                continue
            }
            sockets[name, default: []].append(
                Inherited(descriptor: descriptor, path: UnixListener.path(of: descriptor) ?? ""))
        }
        self.sockets = sockets
        self.tcp = tcp
    }

    deinit {
        for descriptor in tcp.values.joined() { close(descriptor) }
        for list in sockets.values {
            for socket in list { close(socket.descriptor) }
        }
        for descriptor in kept.withLock({ $0.values }) { close(descriptor) }
    }

    /// The descriptor that an earlier process has left under a name; nil: there is none, or it was taken.
    package func takeKept(_ name: String) -> FileDescriptor? {
        kept.withLock { $0.removeValue(forKey: name) }.map { FileDescriptor(owning: $0) }
    }

    /// Sorted. Each name is the name of a source, or of a source and `datagramSuffix` or `tcpSuffix`.
    package var names: [String] { (Array(sockets.keys) + Array(tcp.keys)).sorted() }

    /// The addresses at which the TCP sockets of this name listen.
    package func addresses(of name: String) throws(SystemError) -> [SocketAddress] {
        var addresses: [SocketAddress] = []
        for number in tcp[name] ?? [] {
            addresses.append(try FileDescriptor.duplicate(of: number).localAddress())
        }
        return addresses
    }

    /// A duplicate of the descriptor for the TCP socket of this name; nil if none listens at the address.
    package func duplicate(_ name: String, at address: SocketAddress) throws(SystemError) -> FileDescriptor? {
        for number in tcp[name] ?? [] {
            let socket = try FileDescriptor.duplicate(of: number)
            if try socket.localAddress() == address { return socket }
        }
        return nil
    }

    /// The paths on which the sockets of this name listen. Empty: none was passed. Several: the unit has several
    /// ListenStream= under one name.
    package func paths(of name: String) -> [String] { sockets[name]?.map(\.path) ?? [] }

    /// The paths of all Unix sockets and who may connect, as their files are now.
    package var byName: [String: [PassedSocketFile]] {
        sockets.mapValues { $0.map { PassedSocketFile(lookingAt: $0.path) } }
    }

    /// A duplicate of the descriptor for the socket of this name; nil if none was passed.
    /// - Parameter path: selects one if the unit has several under the name.
    package func duplicate(_ name: String, path: String? = nil) throws(SystemError) -> FileDescriptor? {
        guard let socket = sockets[name]?.first(where: { path == nil || $0.path == path }) else { return nil }
        return try FileDescriptor.duplicate(of: socket.descriptor)
    }
}

/// A socket that systemd passed cannot be used.
package enum SocketActivationError: Error, Sendable, Equatable, CustomStringConvertible {
    case unreadable(SystemError)
    case wrongKind(name: String)

    package var description: String {
        switch self {
        case .unreadable(let error):
            "the sockets that systemd passed cannot be read: \(error)"
        case .wrongKind(let name) where name.hasSuffix(SocketActivation.datagramSuffix):
            "systemd passed a socket named \(name.withControlCharactersEscaped) "
                + "that is not a Unix datagram socket: use ListenDatagram= with a path in its socket unit"
        case .wrongKind(let name) where name.hasSuffix(SocketActivation.tcpSuffix):
            "systemd passed a socket named \(name.withControlCharactersEscaped) "
                + "that is not a listening TCP socket: use ListenStream= with an address in its socket unit, "
                + "such as 127.0.0.1:8377"
        case .wrongKind(let name):
            "systemd passed a socket named \(name.withControlCharactersEscaped) "
                + "that is not a listening Unix stream socket: use ListenStream= with a path in its socket unit, "
                + "or end the name of a datagram socket with \(SocketActivation.datagramSuffix), "
                + "and that of a TCP socket with \(SocketActivation.tcpSuffix)"
        }
    }
}
