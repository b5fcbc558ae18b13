import Assembly
import Configuration
import Ingest
import Platform

/// The listening sockets of the sources: the socket that systemd passed under the source's name, or else one that the
/// daemon creates. Main thread only.
///
/// A descriptor of each socket is held here while its source exists. A reload that changes or renames a source keeps
/// the same socket, so no client ever finds it closed.
final class SourceSockets {
    private let activation: SocketActivation
    private var held: [String: HeldSocket] = [:]

    init(activation: SocketActivation) {
        self.activation = activation
    }

    /// Returns a listening socket for a source: the existing one at its path, unchanged, or a new one.
    /// - Throws: an `OperatorError` with the source, the problem and what to do.
    func open(_ source: Configuration.Source) throws -> HeldSocket {
        do {
            if let passed = try activation.duplicate(source.name) {
                return HeldSocket(passed)
            }
            var group: UInt32?
            if let name = source.group {
                group = try Accounts.groupID(named: name)
                if group == nil {
                    throw OperatorError(
                        "there is no group \"\(name)\": create it (addgroup), or change the source's group")
                }
            }
            let place = HeldSocket.Place(path: source.socket, mode: source.mode, group: group)
            if let existing = holder(of: source.socket) { return HeldSocket(try existing.duplicate(), at: place) }
            try SystemDisk().makeDirectory(Path.directory(of: source.socket), permissions: 0o755)
            return HeldSocket(try UnixListener.listen(at: source.socket, mode: source.mode, group: group), at: place)
        } catch UnixSocketError.inUse(let path) where ServiceUnit.socketListens(at: path) {
            throw OperatorError(
                "source \"\(source.name)\": systemd listens at \(path) (\(ServiceUnit.socket)) "
                    + "and starts the service when a client connects: use the service (systemctl start penstock), "
                    + "or stop both (systemctl stop \(ServiceUnit.socket) penstock), or choose another path")
        } catch {
            throw OperatorError("source \"\(source.name)\": \(error)")
        }
    }

    /// Changes the mode and group of existing sockets to those of the new configuration. If one cannot be changed, none
    /// is.
    /// - Returns: a closure that restores the previous modes and groups.
    func setAccess(_ sockets: [HeldSocket]) throws -> () -> Void {
        var changed: [HeldSocket.Place] = []
        func restore(_ places: [HeldSocket.Place]) {
            for place in places { try? UnixListener.setAccess(of: place.path, mode: place.mode, group: place.group) }
        }
        do {
            for socket in sockets {
                guard let place = socket.place, let before = holder(of: place.path)?.place, before != place else {
                    continue
                }
                changed.append(before)
                try UnixListener.setAccess(of: place.path, mode: place.mode, group: place.group)
            }
            return { [changed] in restore(changed) }
        } catch {
            restore(changed)
            throw OperatorError("\(error)")
        }
    }

    /// Removes a socket that was created for a configuration which is not applied.
    func abandon(_ socket: HeldSocket) {
        if let path = socket.place?.path, holder(of: path) == nil { UnixListener.remove(path) }
    }

    /// Holds these sockets from now on. Removes socket files that the daemon created and no source uses any more.
    func hold(_ sockets: [(source: String, socket: HeldSocket)], without removed: [String]) {
        let before = Set(held.values.compactMap(\.place?.path))
        for source in removed { held[source] = nil }
        for (source, socket) in sockets { held[source] = socket }
        for path in before where holder(of: path) == nil { UnixListener.remove(path) }
    }

    /// Removes the files of the daemon's own sockets, so that no new client connects. Clients in the listen queue can
    /// still be accepted.
    /// - Returns: the sources whose sockets systemd holds. Their waiting clients are left to the next daemon.
    func hide() -> [String] {
        for socket in held.values {
            if let path = socket.place?.path { UnixListener.remove(path) }
        }
        return held.filter { $0.value.place == nil }.map(\.key)
    }

    /// Whether clients wait in the listen queue of one of the daemon's own sockets.
    var areAwaited: Bool { held.values.contains { $0.place != nil && $0.isAwaited } }

    private func holder(of path: String) -> HeldSocket? {
        held.values.first { $0.place?.path == path }
    }

    /// The paths of the source's sockets.
    func paths(_ source: Configuration.Source) -> [String] {
        let passed = activation.paths(of: source.name)
        return passed.isEmpty ? [source.socket] : passed
    }

    /// The sockets that systemd passed, by source name.
    var passed: [String: [PassedSocketFile]] { activation.byName }

    /// Describes the access to a socket that systemd created: its mode and group, and where to change them. Nil if the
    /// daemon created the socket from the configuration.
    func unit(_ source: Configuration.Source) -> String? {
        guard let socket = passed[source.name]?.first else { return nil }
        let access = [socket.mode.map { "mode \(SocketUnitCheck.octal($0))" }, socket.group.map { "group \($0)" }]
            .compactMap(\.self)
        var text =
            "\(access.joined(separator: ", ")), set in \(ServiceUnit.socket) (\(SocketUnitCheck.edit)), "
            + "not in the configuration"
        let ignored = SocketUnitCheck.ignored(source, socket)
        if !ignored.isEmpty { text += ", whose \(ignored.joined(separator: ", ")) has no effect" }
        return text
    }

    /// Resolves the user and group names of the source's `allow:`.
    func admission(_ source: Configuration.Source) throws -> Admission {
        guard let allow = source.allow else { return .everybody }
        let users = try allow.users.map { name in
            guard let id = try Accounts.userID(named: name) else {
                throw OperatorError(
                    "source \"\(source.name)\": there is no user \"\(name)\": create it, or remove it from allow.users")
            }
            return id
        }
        let groups = try allow.groups.map { name in
            guard let id = try Accounts.groupID(named: name) else {
                throw OperatorError(
                    "source \"\(source.name)\": there is no group \"\(name)\": "
                        + "create it, or remove it from allow.groups"
                )
            }
            return id
        }
        return Admission(users: Set(users), groups: Set(groups))
    }
}

/// A listening socket. It stays open as long as this object lives.
final class HeldSocket {
    /// The path of a socket, and who may connect.
    struct Place: Equatable {
        var path: String
        var mode: UInt32
        var group: UInt32?
    }

    /// Nil for a socket that systemd passed.
    let place: Place?
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor, at place: Place? = nil) {
        self.place = place
        self.descriptor = descriptor
    }

    /// Whether clients wait in its listen queue.
    var isAwaited: Bool { UnixListener.isAwaited(descriptor) }

    func duplicate() throws -> FileDescriptor {
        try FileDescriptor.duplicate(of: descriptor.raw)
    }
}
