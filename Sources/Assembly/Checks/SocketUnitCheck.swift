import Configuration
import Platform

/// Checks the sources against the sockets that systemd passes. systemd creates these before the daemon starts, so the
/// configuration's path, mode and group for them have no effect.
package struct SocketUnitCheck {
    let read: ReadConfiguration
    /// By the name of the source.
    let sockets: [String: [PassedSocketFile]]
    let diagnostics: Diagnostics

    func run() {
        for source in read.configuration.sources where !source.socket.isEmpty {
            if let passed = sockets[source.name],
                let socket = passed.first(where: { Self.isSame($0.path, source.socket) }) ?? passed.first
            {
                compare(source, socket)
            } else if let other = sockets.sorted(by: { $0.key < $1.key }).first(where: {
                $0.value.contains { Self.isSame($0.path, source.socket) }
            }) {
                diagnostics.error(
                    at: read.place(of: keys(source, "socket")),
                    "systemd listens at \(source.socket) for a source named \(quoted(other.key)), "
                        + "and this one is named \(quoted(source.name))",
                    hint: "name the source \(other.key), or set FileDescriptorName=\(source.name) (\(Self.edit))")
            }
        }
    }

    private func compare(_ source: Configuration.Source, _ socket: PassedSocketFile) {
        if !Self.isSame(source.socket, socket.path) {
            warn(
                source, "socket", source.socket, is: socket.path,
                set: "\"ListenStream=\" and \"ListenStream=\(source.socket)\"")
        }
        if let mode = socket.mode, mode != source.mode, read.isGiven(keys(source, "mode")) {
            warn(
                source, "mode", Self.octal(source.mode), is: Self.octal(mode),
                set: "SocketMode=\(Self.octal(source.mode))")
        }
        if let wanted = source.group, let group = socket.group, wanted != group {
            warn(source, "group", wanted, is: group, set: "SocketGroup=\(wanted)")
        }
    }

    private func warn(
        _ source: Configuration.Source, _ key: String, _ said: String, is real: String, set setting: String
    ) {
        let at = keys(source, key)
        guard !read.isBroken(at) else { return }
        diagnostics.warning(
            at: read.place(of: at), "\(key) \(said) has no effect: systemd creates this socket, with \(key) \(real)",
            hint:
                "set in \(ServiceUnit.socket): \(Self.edit) with \(setting) in [Socket], "
                + "then systemctl restart \(ServiceUnit.socket); or write \(real) here")
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
