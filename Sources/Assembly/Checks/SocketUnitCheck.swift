import DaemonConfiguration
import Platform

/// Checks the sources against the sockets that systemd passes. systemd creates these before the daemon starts, so the
/// configuration's path, mode and group for them have no effect.
package struct SocketUnitCheck {
    let read: ReadConfiguration
    /// By the name of the source.
    let sockets: [String: [PassedSocketFile]]
    let diagnostics: Diagnostics

    /// A socket of a source: the key of its path, the end of its name (FileDescriptorName=), its unit, and the unit's
    /// setting for the path.
    private struct Kind {
        var key: String
        var suffix: String
        var unit: String
        var setting: String

        static let stream = Kind(key: "socket", suffix: "", unit: ServiceUnit.socket, setting: "ListenStream=")
        static let datagram = Kind(
            key: "datagram", suffix: SocketActivation.datagramSuffix, unit: ServiceUnit.datagramSocket,
            setting: "ListenDatagram=")

        var edit: String { "systemctl edit \(unit)" }
    }

    func run() {
        for source in read.configuration.sources {
            check(source, source.socket, .stream)
            check(source, source.datagram ?? "", .datagram)
        }
    }

    private func check(_ source: Configuration.Source, _ path: String, _ kind: Kind) {
        let name = source.name + kind.suffix
        if path.isEmpty {
            guard kind.key == "datagram", let passed = sockets[name]?.first, !read.isBroken(keys(source, kind.key))
            else { return }
            diagnostics.warning(
                at: read.place(of: ["sources", source.name]),
                "systemd passes a datagram socket for source \(quoted(source.name)), and nothing reads it",
                hint: "add datagram: \(passed.path), or systemctl disable --now \(kind.unit)")
        } else if let passed = sockets[name],
            let socket = passed.first(where: { Self.isSame($0.path, path) }) ?? passed.first
        {
            compare(source, path, socket, kind)
        } else if let other = sockets.sorted(by: { $0.key < $1.key }).first(where: {
            $0.value.contains { Self.isSame($0.path, path) }
        }) {
            diagnostics.error(
                at: read.place(of: keys(source, kind.key)),
                "systemd listens at \(path) for a source named \(quoted(other.key)), "
                    + "and this one is named \(quoted(name))",
                hint: "name the source \(other.key), or set FileDescriptorName=\(name) (\(kind.edit))")
        }
    }

    private func compare(_ source: Configuration.Source, _ path: String, _ socket: PassedSocketFile, _ kind: Kind) {
        if !Self.isSame(path, socket.path) {
            warn(
                source, kind.key, path, is: socket.path, kind,
                set: "\"\(kind.setting)\" and \"\(kind.setting)\(path)\"")
        }
        if let mode = socket.mode, mode != source.mode, read.isGiven(keys(source, "mode")) {
            warn(
                source, "mode", Self.octal(source.mode), is: Self.octal(mode), kind,
                set: "SocketMode=\(Self.octal(source.mode))")
        }
        if let wanted = source.group, let group = socket.group, wanted != group {
            warn(source, "group", wanted, is: group, kind, set: "SocketGroup=\(wanted)")
        }
    }

    private func warn(
        _ source: Configuration.Source, _ key: String, _ said: String, is real: String, _ kind: Kind,
        set setting: String
    ) {
        let at = keys(source, key)
        guard !read.isBroken(at) else { return }
        diagnostics.warning(
            at: read.place(of: at), "\(key) \(said) has no effect: systemd creates this socket, with \(key) \(real)",
            hint:
                "set in \(kind.unit): \(kind.edit) with \(setting) in [Socket], "
                + "then systemctl restart \(kind.unit); or write \(real) here")
    }

    /// The source's settings that differ from its socket. The default mode counts as not given.
    package static func ignored(_ source: Configuration.Source, _ socket: PassedSocketFile) -> [String] {
        var ignored: [String] = []
        if !isSame(source.socket, socket.path) { ignored.append("socket \(source.socket)") }
        if let mode = socket.mode, mode != source.mode, source.mode != Configuration.Source.usual.mode {
            ignored.append("mode \(octal(source.mode))")
        }
        if let wanted = source.group, let group = socket.group, wanted != group { ignored.append("group \(wanted)") }
        return ignored
    }

    package static let edit = "systemctl edit \(ServiceUnit.socket)"

    package static func octal(_ mode: UInt32) -> String { "0" + String(mode, radix: 8) }

    private func keys(_ source: Configuration.Source, _ key: String) -> [String] { ["sources", source.name, key] }

    /// `/var/run` equals `/run`.
    private static func isSame(_ a: String, _ b: String) -> Bool { a == b || resolved(a) == resolved(b) }

    private static func resolved(_ path: String) -> String {
        let directory = Path.directory(of: path)
        return (SystemDisk().realPath(directory) ?? directory) + path.dropFirst(directory.count)
    }
}
