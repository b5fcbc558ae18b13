import Configuration
import Ingest
import Platform

/// The sockets that sources listen on: systemd's, if it passed one of the source's name, else the
/// daemon's own. Main thread only.
///
/// A descriptor of each stays here while its source exists, so that a reload which changes or
/// renames a source but not its socket goes on with the same one: no client ever finds it closed.
final class SourceSockets {
    private let activation: SocketActivation
    private var held: [String: HeldSocket] = [:]

    init(activation: SocketActivation) {
        self.activation = activation
    }

    /// A listening socket for a source: the one that is served at its path, unchanged, or a new one.
    /// - Throws: a sentence that says which source, what, and what to do.
    func open(_ source: Configuration.Source) throws -> HeldSocket {
        do {
            if let passed = try activation.duplicate(source.name) {
                return HeldSocket(passed)
            }
            var group: UInt32?
            if let name = source.group {
                group = try Accounts.groupID(named: name)
                if group == nil {
                    throw DaemonError("there is no group \"\(name)\": make it (addgroup), or change the source's group")
                }
            }
            let place = HeldSocket.Place(path: source.socket, mode: source.mode, group: group)
            if let existing = holder(of: source.socket) { return HeldSocket(try existing.duplicate(), at: place) }
            try SystemDisk().makeDirectory(Path.directory(of: source.socket), permissions: 0o755)
            return HeldSocket(try UnixListener.listen(at: source.socket, mode: source.mode, group: group), at: place)
        } catch UnixSocketError.inUse(let path) where ServiceUnit.socketListens(at: path) {
            throw DaemonError(
                "source \"\(source.name)\": systemd listens at \(path) (\(ServiceUnit.socket)), and starts the service when a client "
                    + "connects: use the service (systemctl start penstock), or end both (systemctl stop \(ServiceUnit.socket) penstock), or "
                    + "choose another path")
        } catch {
            throw DaemonError("source \"\(source.name)\": \(error)")
        }
    }

    /// Lets in at sockets that are served already whom the new configuration lets in: all of them,
    /// or, if one cannot be changed, none.
    /// - Returns: lets in again who was let in before.
    func setAccess(_ sockets: [HeldSocket]) throws -> () -> Void {
        var changed: [HeldSocket.Place] = []
        func restore(_ places: [HeldSocket.Place]) {
            for place in places { try? UnixListener.setAccess(of: place.path, mode: place.mode, group: place.group) }
        }
        do {
            for socket in sockets {
                guard let place = socket.place, let before = holder(of: place.path)?.place, before != place else { continue }
                changed.append(before)
                try UnixListener.setAccess(of: place.path, mode: place.mode, group: place.group)
            }
            return { [changed] in restore(changed) }
        } catch {
            restore(changed)
            throw DaemonError("\(error)")
        }
    }

    /// Throws a socket away that was opened for a configuration which is not applied.
    func abandon(_ socket: HeldSocket) {
        if let path = socket.place?.path, holder(of: path) == nil { UnixListener.remove(path) }
    }

    /// Notes which sockets are served from now on. Files of the daemon's own that no source has any
    /// more go.
    func hold(_ sockets: [(source: String, socket: HeldSocket)], without removed: [String]) {
        let before = Set(held.values.compactMap(\.place?.path))
        for source in removed { held[source] = nil }
        for (source, socket) in sockets { held[source] = socket }
        for path in before where holder(of: path) == nil { UnixListener.remove(path) }
    }

    /// From now on nobody finds the daemon's own sockets; who has connected is in them still.
    /// - Returns: the sources whose sockets are systemd's, where the next daemon lets clients in.
    func hide() -> [String] {
        for socket in held.values {
            if let path = socket.place?.path { UnixListener.remove(path) }
        }
        return held.filter { $0.value.place == nil }.map(\.key)
    }

    /// Whether clients have connected to the daemon's own sockets that were not let in yet.
    var areAwaited: Bool { held.values.contains { $0.place != nil && $0.isAwaited } }

    private func holder(of path: String) -> HeldSocket? {
        held.values.first { $0.place?.path == path }
    }

    /// Where the source is reached.
    func paths(_ source: Configuration.Source) -> [String] {
        let passed = activation.paths(of: source.name)
        return passed.isEmpty ? [source.socket] : passed
    }

    /// The sockets that systemd passed, by the name of the source.
    var passed: [String: [PassedSocket]] { activation.byName }

    /// Who may connect to the source's socket, and where that is set; nil: the daemon made it as the configuration says.
    func unit(_ source: Configuration.Source) -> String? {
        guard let socket = passed[source.name]?.first else { return nil }
        let access = [socket.mode.map { "mode \(SocketUnitCheck.octal($0))" }, socket.group.map { "group \($0)" }].compactMap(\.self)
        var text = "\(access.joined(separator: ", ")), set in \(ServiceUnit.socket) (\(SocketUnitCheck.edit)), not in the configuration"
        let ignored = SocketUnitCheck.ignored(source, socket)
        if !ignored.isEmpty { text += ", whose \(ignored.joined(separator: ", ")) has no effect" }
        return text
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
    /// Where it is, and who may connect.
    struct Place: Equatable {
        var path: String
        var mode: UInt32
        var group: UInt32?
    }

    /// Of a socket that the daemon made; nil: it is systemd's.
    let place: Place?
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor, at place: Place? = nil) {
        self.place = place
        self.descriptor = descriptor
    }

    var isAwaited: Bool { UnixListener.isAwaited(descriptor) }

    func duplicate() throws -> FileDescriptor {
        try FileDescriptor.duplicate(of: descriptor.raw)
    }
}
