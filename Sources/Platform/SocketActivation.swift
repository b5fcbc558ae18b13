import CSystemd
import Glibc

/// The listening sockets that systemd opened for us and goes on holding while we restart
/// (sd_listen_fds(3)): connections made meanwhile wait in them, none is refused.
///
/// Sockets are known by name, FileDescriptorName= in the socket unit. The originals stay here
/// as long as this value lives, so that a source which one reload removes and the next brings
/// back finds its socket again. Any thread.
package final class SocketActivation: Sendable {
    /// A socket's number, and the path it listens on.
    private struct Inherited {
        var descriptor: Int32
        var path: String
    }

    private let sockets: [String: [Inherited]]

    /// Takes what was passed to this process, and takes the variables that say so out of the
    /// environment, so that no child believes they are meant for it. In main, before other
    /// threads are made.
    ///
    /// - Throws: if one of them is not a listening Unix stream socket.
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
            // The list is as long as the count says, and a name for each descriptor.
            let name = unsafe list.flatMap { unsafe $0[index] }.map { unsafe String(cString: $0) }
            passed.append((name ?? "unknown", SD_LISTEN_FDS_START + Int32(index)))
        }
        try self.init(owning: passed)
    }

    /// Takes ownership of the descriptors, also when it throws.
    package init(owning passed: [(name: String, descriptor: Int32)]) throws(SocketActivationError) {
        var sockets: [String: [Inherited]] = [:]
        for (name, descriptor) in passed {
            // libsystemd does this too; here it also holds for sockets passed by a test.
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            guard sd_is_socket_unix(descriptor, Int32(SOCK_STREAM.rawValue), 1, nil, 0) > 0 else {
                for (_, number) in passed { close(number) }
                self.sockets = [:]
                throw .wrongKind(name: name)
            }
            sockets[name, default: []].append(Inherited(descriptor: descriptor, path: UnixListener.path(of: descriptor) ?? ""))
        }
        self.sockets = sockets
    }

    deinit {
        for list in sockets.values {
            for socket in list { close(socket.descriptor) }
        }
    }

    /// In order; a source of the same name is meant.
    package var names: [String] { sockets.keys.sorted() }

    /// Where the socket of this name listens. nil: none was passed; more than one: the unit has
    /// several ListenStream= under one name.
    package func paths(of name: String) -> [String] { sockets[name]?.map(\.path) ?? [] }

    /// Where all of them listen, and who may connect, as the files are now.
    package var byName: [String: [PassedSocket]] { sockets.mapValues { $0.map { PassedSocket(lookingAt: $0.path) } } }

    /// A descriptor of its own for the socket of this name; nil: none was passed.
    /// - Parameter path: which, if the unit has several under the name.
    package func duplicate(_ name: String, path: String? = nil) throws(SystemError) -> FileDescriptor? {
        guard let socket = sockets[name]?.first(where: { path == nil || $0.path == path }) else { return nil }
        return try FileDescriptor.duplicate(of: socket.descriptor)
    }
}

/// What systemd passed cannot be used.
package enum SocketActivationError: Error, Sendable, Equatable, CustomStringConvertible {
    case unreadable(SystemError)
    case wrongKind(name: String)

    package var description: String {
        switch self {
        case .unreadable(let error):
            "the sockets that systemd passed cannot be read: \(error)"
        case .wrongKind(let name):
            "systemd passed a socket named \(name.withControlCharactersEscaped) that is not a listening Unix stream socket: use ListenStream= with a path in its socket unit"
        }
    }
}
