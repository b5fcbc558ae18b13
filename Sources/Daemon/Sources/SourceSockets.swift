import Assembly
import DaemonConfiguration
import Ingest
import Platform

/// The sockets of the sources, stream and datagram: the socket that systemd passed under its name, or else one that the
/// daemon creates. A stream socket has the name of its source (`Datagrams.name`). Main thread only.
///
/// A descriptor of each socket is held here while its source exists. A reload that changes or renames a source keeps
/// the same socket, so no client ever finds it closed.
final class SourceSockets {
    private let activation: SocketActivation
    private var held: [String: HeldSocket] = [:]

    init(activation: SocketActivation) {
        self.activation = activation
    }

    /// Returns a listening socket for a source: the existing one at its path, unchanged, or a new one. Nil: the source
    /// has none.
    /// - Throws: an `OperatorError` with the source, the problem and what to do.
    func open(_ source: Configuration.Source) throws -> HeldSocket? {
        guard has(source) else { return nil }
        return try open(source, source.name, at: source.socket, isDatagram: false)
    }

    /// Whether the source has a stream socket, and not only `http`.
    func has(_ source: Configuration.Source) -> Bool {
        !source.socket.isEmpty || !activation.paths(of: source.name).isEmpty
    }

    /// The same for the source's datagram socket; nil if it has none.
    func openDatagrams(_ source: Configuration.Source) throws -> HeldSocket? {
        guard let path = source.datagram else { return nil }
        return try open(source, Datagrams.name(ofSource: source.name), at: path, isDatagram: true)
    }

    private func open(
        _ source: Configuration.Source, _ name: String, at path: String, isDatagram: Bool
    ) throws -> HeldSocket {
        do {
            if let passed = try activation.duplicate(name) {
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
            let place = HeldSocket.Place(path: path, mode: source.mode, group: group, isDatagram: isDatagram)
            if let existing = holder(of: path) {
                guard existing.place?.isDatagram == isDatagram else {
                    throw OperatorError(
                        "\(path) is now a \(isDatagram ? "stream" : "datagram") socket of the daemon: "
                            + "choose another path, or restart the daemon (systemctl restart penstock)")
                }
                return HeldSocket(try existing.duplicate(), at: place)
            }
            try SystemDisk().makeDirectory(Path.directory(of: path), permissions: 0o755)
            return HeldSocket(
                isDatagram
                    ? try DatagramSocket.bind(at: path, mode: source.mode, group: group)
                    : try UnixListener.listen(at: path, mode: source.mode, group: group), at: place)
        } catch UnixSocketError.inUse(let path) {
            guard let unit = ServiceUnit.unitListening(at: path) else {
                throw OperatorError("source \"\(source.name)\": \(UnixSocketError.inUse(path: path))")
            }
            throw OperatorError(
                "source \"\(source.name)\": systemd listens at \(path) (\(unit)) "
                    + "and starts the service when a client connects: use the service (systemctl start penstock), "
                    + "or stop both (systemctl stop \(unit) penstock), or choose another path")
        } catch {
            throw OperatorError("source \"\(source.name)\": \(error)")
        }
    }

    /// Returns a listening TCP socket for a source with `http`: the one that systemd passed, or the existing one at its
    /// address, or a new one.
    /// - Throws: an `OperatorError` with the source, the problem and what to do.
    func openTCP(_ source: Configuration.Source) throws -> HeldSocket? {
        guard let address = source.http?.address else { return nil }
        do {
            let name = Ingest.tcpName(ofSource: source.name)
            if let passed = try activation.duplicate(name, at: address) {
                return HeldSocket(passed, at: address, isOwn: false)
            }
            let others = try activation.addresses(of: name).map(\.description).sorted()
            // Without an exact match, nothing would have checked who can reach the address.
            guard others.isEmpty else {
                throw OperatorError(
                    "systemd listens at \(others.joined(separator: ", ")) for it (FileDescriptorName=\(name)), and its "
                        + "http is \(address): make ListenStream= of the socket unit and http the same")
            }
            if let existing = held.values.first(where: { $0.address == address }) {
                return HeldSocket(try existing.duplicate(), at: address)
            }
            return HeldSocket(try TCPListener.listen(at: address), at: address)
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
    func hold(_ sockets: [(name: String, socket: HeldSocket)], without removed: [String]) {
        let before = Set(held.values.compactMap(\.place?.path))
        for name in removed { held[name] = nil }
        for (name, socket) in sockets { held[name] = socket }
        for path in before where holder(of: path) == nil { UnixListener.remove(path) }
    }

    /// Removes the files of the daemon's own sockets, so that no new client connects. Clients in the listen queue can
    /// still be accepted.
    /// - Returns: the names of the sockets that systemd holds. Waiting clients and messages are left to the next
    ///   daemon.
    func hide() -> [String] {
        for socket in held.values {
            if let path = socket.place?.path { UnixListener.remove(path) }
        }
        return held.filter { !$0.value.isOwn }.map(\.key)
    }

    /// Whether clients or messages wait in the queue of one of the daemon's own sockets.
    var areAwaited: Bool { held.values.contains { $0.isOwn && $0.isAwaited } }

    private func holder(of path: String) -> HeldSocket? {
        held.values.first { $0.place?.path == path }
    }

    /// Where the source's clients send: the paths of its sockets, and the URL of its TCP socket.
    func places(_ source: Configuration.Source, tcp: HeldSocket?) -> [String] {
        func paths(_ name: String, _ path: String?) -> [String] {
            let passed = activation.paths(of: name)
            return passed.isEmpty ? path.map { [$0] } ?? [] : passed
        }
        let datagrams = source.datagram.map { paths(Datagrams.name(ofSource: source.name), $0) } ?? []
        let scheme = source.http?.tls == nil ? "http" : "https"
        let urls = tcp?.localAddress.map { ["\(scheme)://\($0)"] } ?? []
        return paths(source.name, source.socket.isEmpty ? nil : source.socket) + datagrams + urls
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
        let members = try source.datagram == nil ? [] : groups.flatMap { try Accounts.members(ofGroup: $0) }
        return Admission(users: Set(users), groups: Set(groups), members: Set(members))
    }
}

/// A listening or a datagram socket. It stays open as long as this object lives.
final class HeldSocket {
    /// The path of a socket, and who may connect.
    struct Place: Equatable {
        var path: String
        var mode: UInt32
        var group: UInt32?
        var isDatagram = false
    }

    /// Nil for a socket that systemd passed, and for TCP.
    let place: Place?
    /// The configured address of a TCP socket.
    let address: SocketAddress?
    /// Whether the daemon created it. Otherwise systemd holds it as well.
    let isOwn: Bool
    private let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor, at place: Place? = nil) {
        self.place = place
        address = nil
        isOwn = place != nil
        self.descriptor = descriptor
    }

    init(_ descriptor: consuming FileDescriptor, at address: SocketAddress, isOwn: Bool = true) {
        place = nil
        self.address = address
        self.isOwn = isOwn
        self.descriptor = descriptor
    }

    /// The address of a TCP socket, with the port that the kernel chose for port 0.
    var localAddress: SocketAddress? { address == nil ? nil : try? descriptor.localAddress() }

    /// Whether clients wait in its listen queue, or messages in a datagram socket.
    var isAwaited: Bool { UnixListener.isAwaited(descriptor) }

    func duplicate() throws -> FileDescriptor {
        try FileDescriptor.duplicate(of: descriptor.raw)
    }
}
