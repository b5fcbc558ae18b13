import Configuration
import Ingest
import Platform

/// The sockets that sources listen on: systemd's, if it passed one of the source's name, else the
/// daemon's own. Main thread only.
///
/// A descriptor of each stays here while its source exists, so that a reload which changes a
/// source but not its socket goes on with the same one: no client ever finds it closed.
final class SourceSockets {
    private let activation: SocketActivation
    private var held: [String: HeldSocket] = [:]

    init(activation: SocketActivation) {
        self.activation = activation
    }

    /// A listening socket for a source: the one it has, or a new one.
    /// - Throws: a sentence that says which source, what, and what to do.
    func open(_ source: Configuration.Source) throws -> HeldSocket {
        do {
            if let passed = try activation.duplicate(source.name) {
                return HeldSocket(path: nil, passed)
            }
            var group: UInt32?
            if let name = source.group {
                group = try Accounts.groupID(named: name)
                if group == nil {
                    throw DaemonError("there is no group \"\(name)\": make it (addgroup), or change the source's group")
                }
            }
            if let existing = held[source.name], existing.path == source.socket {
                try UnixListener.setAccess(of: source.socket, mode: source.mode, group: group)
                return HeldSocket(path: source.socket, try existing.duplicate())
            }
            try SystemDisk().makeDirectory(Path.directory(of: source.socket), permissions: 0o755)
            return HeldSocket(path: source.socket, try UnixListener.listen(at: source.socket, mode: source.mode, group: group))
        } catch {
            throw DaemonError("source \"\(source.name)\": \(error)")
        }
    }

    /// Notes that a source is served on this socket from now on.
    func hold(_ socket: HeldSocket, for source: String) {
        held[source] = socket
    }

    /// Throws a socket away that was opened for a configuration which is not applied.
    func abandon(_ socket: HeldSocket) {
        guard let path = socket.path, !held.values.contains(where: { $0.path == path }) else { return }
        UnixListener.remove(path)
    }

    /// A source is gone: its socket's file goes too, if it was the daemon's own.
    func release(_ source: String) {
        guard let socket = held.removeValue(forKey: source), let path = socket.path else { return }
        if !held.values.contains(where: { $0.path == path }) { UnixListener.remove(path) }
    }

    func releaseAll() {
        for name in Array(held.keys) { release(name) }
    }

    /// Where the source is reached.
    func paths(_ source: Configuration.Source) -> [String] {
        let passed = activation.paths(of: source.name)
        return passed.isEmpty ? [source.socket] : passed
    }

    /// Who may connect (`allow:`); names are resolved now.
    func admission(_ source: Configuration.Source) throws -> Admission {
        guard let allow = source.allow else { return .everybody }
        let users = try allow.users.map { name in
            guard let id = try Accounts.userID(named: name) else {
                throw DaemonError("source \"\(source.name)\": there is no user \"\(name)\": make it, or take it out of allow.users")
            }
            return id
        }
        let groups = try allow.groups.map { name in
            guard let id = try Accounts.groupID(named: name) else {
                throw DaemonError("source \"\(source.name)\": there is no group \"\(name)\": make it, or take it out of allow.groups")
            }
            return id
        }
        return Admission(users: Set(users), groups: Set(groups))
    }
}

/// A listening socket, kept open as long as this lives.
final class HeldSocket {
    /// Of a socket that the daemon made; nil: it is systemd's.
    let path: String?
    private let descriptor: FileDescriptor

    init(path: String?, _ descriptor: consuming FileDescriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    func duplicate() throws -> FileDescriptor {
        try FileDescriptor.duplicate(of: descriptor.raw)
    }
}
