import DaemonConfiguration
import Platform
import TestSupport
import Testing

@testable import Assembly

/// What `systemctl show` prints about the service, and what the check concludes from it.
@Suite struct ServiceUnitTests {
    private static let shown = """
        LoadState=loaded
        ExecStart={ path=/usr/bin/penstockd ; argv[]=/usr/bin/penstockd --config /etc/penstock/penstock.yaml ; ignore_errors=no ; pid=0 }
        TriggeredBy=penstock.socket
        ProtectSystem=strict
        ProtectHome=yes
        PrivateTmp=yes
        ReadWritePaths=/srv/archive -/data
        ReadOnlyPaths=
        InaccessiblePaths=/srv/archive/closed
        StateDirectory=penstock
        RuntimeDirectory=penstock
        TemporaryFileSystem=/var/lib/penstock/scratch:rw
        BindPaths=/mnt/big:/big /mnt/small
        """

    private static let socket = """
        LoadState=loaded
        FileDescriptorName=apps
        Listen=/run/penstock/events.sock (Stream)
        Listen=/run/penstock/events.dgram (Datagram)
        SocketMode=0660
        SocketGroup=penstock-clients
        """

    private func unit(_ service: String = shown, _ socket: String = socket) throws -> ServiceUnit {
        try #require(ServiceUnit(ServiceUnit.parse(service), sockets: [ServiceUnit.parse(socket)]))
    }

    @Test func `the configuration file and the sockets are read from the unit`() throws {
        let unit = try unit()
        #expect(unit.configurationFile == "/etc/penstock/penstock.yaml")
        #expect(
            unit.sockets == [
                "apps": [PassedSocketFile(path: "/run/penstock/events.sock", mode: 0o660, group: "penstock-clients")]
            ])
        let datagrams = Self.socket.replacing("FileDescriptorName=apps", with: "FileDescriptorName=apps.datagram")
        #expect(
            try self.unit(Self.shown, datagrams).sockets == [
                "apps.datagram": [
                    PassedSocketFile(path: "/run/penstock/events.dgram", mode: 0o660, group: "penstock-clients")
                ]
            ])
        #expect(
            try self.unit(
                "LoadState=loaded\nExecStart={ path=/usr/bin/penstockd ; argv[]=/usr/bin/penstockd --config=/x.yaml ; }"
            ).configurationFile == "/x.yaml")
        #expect(
            try self.unit("LoadState=loaded\nExecStart={ path=/usr/bin/penstockd ; argv[]=/usr/bin/penstockd ; }")
                .configurationFile == "/etc/penstock/penstock.yaml")
    }

    @Test func `a missing or masked service counts as none, and a masked socket passes nothing`() throws {
        #expect(ServiceUnit(ServiceUnit.parse("LoadState=not-found\nExecStart="), sockets: []) == nil)
        #expect(ServiceUnit(ServiceUnit.parse(""), sockets: []) == nil)
        #expect(try unit(Self.shown, "LoadState=masked\nFileDescriptorName=apps\nListen=/s (Stream)").sockets == [:])
    }

    @Test(arguments: [
        ("inactive", "disabled", false), ("active", "disabled", true), ("inactive", "enabled", true),
        ("failed", "disabled", true),
    ]) func `a socket unit that is installed only passes nothing`(active: String, file: String, passes: Bool) throws {
        let unit = try unit(Self.shown, Self.socket + "\nActiveState=\(active)\nUnitFileState=\(file)")
        #expect(unit.sockets.isEmpty != passes)
    }

    @Test(
        arguments: [
            ("/var/lib/penstock/journal", nil), ("/var/lib/penstock", nil), ("/run/penstock/x", nil),
            ("/srv/archive/2026", nil), ("/data/x", nil),
            ("/big/x", nil), ("/mnt/small", nil), ("/dev/shm", nil),
            ("/srv/archives", .readOnly(setting: "ProtectSystem=strict")),
            ("/", .readOnly(setting: "ProtectSystem=strict")),
            ("/var/lib/penstocks", .readOnly(setting: "ProtectSystem=strict")),
            ("/var/lib", .readOnly(setting: "ProtectSystem=strict")),
            ("/home/ada/x", .hidden(setting: "ProtectHome=yes")), ("/root", .hidden(setting: "ProtectHome=yes")),
            ("/srv/archive/closed/x", .hidden(setting: "InaccessiblePaths=")),
            ("/tmp/x", .ownCopy(setting: "PrivateTmp=yes")), ("/var/tmp", .ownCopy(setting: "PrivateTmp=yes")),
            ("/var/lib/penstock/scratch/x", .ownCopy(setting: "TemporaryFileSystem=")),
        ] as [(String, UnitSandbox.Obstacle?)])
    func `the innermost of nested directory settings applies`(path: String, obstacle: UnitSandbox.Obstacle?) throws {
        #expect(try unit().sandbox.obstacle(toWriting: path) == obstacle)
    }

    @Test func `a unit without a sandbox may write anywhere`() throws {
        let sandbox = UnitSandbox(ServiceUnit.parse("ProtectSystem=no\nProtectHome=no\nPrivateTmp=no"))
        for path in ["/", "/usr/x", "/home/x", "/tmp"] { #expect(sandbox.obstacle(toWriting: path) == nil) }
        let usual = UnitSandbox(ServiceUnit.parse("ProtectSystem=full\nProtectHome=read-only"))
        #expect(usual.obstacle(toWriting: "/etc/x") == .readOnly(setting: "ProtectSystem=full"))
        #expect(usual.obstacle(toWriting: "/home/x") == .readOnly(setting: "ProtectHome=read-only"))
        #expect(usual.obstacle(toWriting: "/srv/x") == nil)
    }

    /// The findings for a configuration, as lines.
    private func findings(_ text: String, _ unit: ServiceUnit) throws -> [String] {
        let directory = try TemporaryDirectory()
        let file = try directory.write("p.yaml", text)
        return ConfigurationCheck.loader(
            pluginDirectories: [], for: .rehearsal, sockets: unit.sockets, sandbox: unit.sandbox
        )
        .load(file: file).diagnostics.map {
            "\($0.place.line):\($0.place.column): \($0.severity): \($0.message); \($0.hint ?? "")"
        }
    }

    private func configuration(
        source: String = "apps", _ keys: String, file: String = "/srv/archive/x", journal: String = "/srv/archive/j"
    ) -> String {
        """
        sources: { \(source): { \(keys) } }
        journal: { directory: \(journal) }
        control: { socket: /srv/archive/c }
        routes: [ { to: [d] } ]
        destinations: { d: { file: "\(file)" } }
        """
    }

    @Test func `a socket that systemd passes as configured is not mentioned`() throws {
        let text = configuration("socket: /run/penstock/events.sock, mode: \"0660\"")
        #expect(try findings(text, unit()).filter { $0.contains("no effect") } == [])
    }

    @Test func `the datagram socket of systemd is compared with the source, and must be read`() throws {
        let unit = try unit(
            Self.shown, Self.socket.replacing("FileDescriptorName=apps", with: "FileDescriptorName=apps.datagram"))
        let same = "socket: /srv/archive/s, datagram: /run/penstock/events.dgram"
        #expect(try findings(configuration(same), unit).filter { $0.contains("systemd") } == [])
        let other = try findings(configuration("socket: /srv/archive/s, datagram: /run/other"), unit)
        #expect(
            other.contains {
                $0.contains("warning: datagram /run/other has no effect: systemd creates this socket, with datagram")
                    && $0.contains("systemctl edit penstock-datagram.socket with \"ListenDatagram=\"")
            }, "\(other)")
        let none = try findings(configuration("socket: /srv/archive/s"), unit)
        #expect(
            none.contains {
                $0.contains("systemd passes a datagram socket for source \"apps\", and nothing reads it")
                    && $0.contains("add datagram: /run/penstock/events.dgram")
            }, "\(none)")
        let named = try findings(configuration(source: "shop", same), unit)
        #expect(named.contains { $0.contains("error: systemd listens at /run/penstock/events.dgram") }, "\(named)")
    }

    @Test func `a path, mode or group that systemd overrides is reported at its place, with both values`() throws {
        let found = try findings(configuration("socket: /run/other.sock, mode: \"0600\", group: root"), unit())
        #expect(
            found.contains {
                $0.hasPrefix(
                    "1:28: warning: socket /run/other.sock has no effect: systemd creates this socket, with socket /run/penstock/events.sock; set in penstock.socket: systemctl edit penstock.socket with \"ListenStream=\" and \"ListenStream=/run/other.sock\""
                )
            }, "\(found)")
        #expect(
            found.contains {
                $0.contains("warning: mode 0600 has no effect: systemd creates this socket, with mode 0660; ")
                    && $0.contains("SocketMode=0600")
            }, "\(found)")
        #expect(
            found.contains {
                $0.contains(
                    "warning: group root has no effect: systemd creates this socket, with group penstock-clients; ")
                    && $0.contains("SocketGroup=root")
            }, "\(found)")
    }

    @Test func `a source with another name than systemd's socket is rejected`() throws {
        let found = try findings(configuration(source: "shop", "socket: /run/penstock/events.sock"), unit())
        #expect(
            found.contains {
                $0.contains(
                    "error: systemd listens at /run/penstock/events.sock for a source named \"apps\", and this one is named \"shop\"; name the source apps, or set FileDescriptorName=shop"
                )
            }, "\(found)")
    }

    @Test func `a file or journal outside the sandbox is rejected, with the setting that allows it`() throws {
        let found = try findings(
            configuration("socket: /run/penstock/events.sock", file: "/srv/other/%Y/x", journal: "/opt/j"), unit())
        #expect(
            found.contains {
                $0.hasPrefix(
                    "2:23: error: penstock.service may not write in /opt/j: its sandbox has ProtectSystem=strict; ")
                    && $0.contains("ReadWritePaths=/opt/j")
            }, "\(found)")
        #expect(
            found.contains {
                $0.hasPrefix(
                    "5:28: error: penstock.service may not write in /srv/other: its sandbox has ProtectSystem=strict; ")
            }, "\(found)")
    }
}
