import DaemonConfiguration
import Platform
import TestSupport
import Testing

@testable import Assembly

/// Which addresses a unit lets the service listen at.
@Suite struct UnitNetworkTests {
    /// As systemd prints the shipped unit.
    private static let shipped = """
        LoadState=loaded
        User=penstock
        ExecStart={ path=/usr/bin/penstockd ; argv[]=/usr/bin/penstockd ; ignore_errors=no ; pid=0 }
        PrivateNetwork=no
        RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
        SocketBindAllow=
        SocketBindDeny=
        IPAddressAllow=
        IPAddressDeny=
        AmbientCapabilities=
        ProtectHome=yes
        """

    private func obstacle(_ lines: String, _ address: String) throws -> UnitNetwork.Obstacle? {
        var unit = ServiceUnit.parse(Self.shipped)
        unit.merge(ServiceUnit.parse(lines)) { $1 }
        let address = try #require(SocketAddress(address))
        return UnitNetwork(unit).obstacle(toListeningAt: address, firstFreePort: 1024)
    }

    @Test(arguments: ["127.0.0.1:8377", "[::1]:1024", "0.0.0.0:65535", "[2001:db8::1]:8443", "127.0.0.1:0"])
    func `the shipped unit allows every address with a port from 1024`(_ address: String) throws {
        #expect(try obstacle("", address) == nil)
    }

    @Test func `a port below 1024 needs a capability`() throws {
        let obstacle = try #require(try obstacle("", "0.0.0.0:443"))
        #expect(obstacle.reason == "a port below 1024 needs a right that the service does not have")
        #expect(
            obstacle.remedy
                == "systemctl edit penstock, and in [Service] AmbientCapabilities=CAP_NET_BIND_SERVICE and"
                + " CapabilityBoundingSet=CAP_NET_BIND_SERVICE; systemctl restart penstock")
        #expect(try self.obstacle("AmbientCapabilities=cap_net_bind_service", "0.0.0.0:443") == nil)
        #expect(try self.obstacle("User=root", "0.0.0.0:443") == nil)
    }

    @Test(arguments: [
        ("PrivateNetwork=yes", "127.0.0.1:8377", "PrivateNetwork=yes"),
        ("RestrictAddressFamilies=AF_UNIX AF_INET6", "127.0.0.1:8377", "RestrictAddressFamilies=AF_UNIX AF_INET6"),
        ("RestrictAddressFamilies=AF_UNIX AF_INET", "[::1]:8377", "RestrictAddressFamilies=AF_UNIX AF_INET"),
        ("RestrictAddressFamilies=~AF_INET AF_NETLINK", "127.0.0.1:8377", "RestrictAddressFamilies=~AF_INET"),
        ("RestrictAddressFamilies=none", "127.0.0.1:8377", "RestrictAddressFamilies=none"),
        ("SocketBindDeny=any", "127.0.0.1:8377", "SocketBindDeny=any"),
        ("SocketBindDeny=any", "127.0.0.1:0", "SocketBindDeny=any"),
        ("SocketBindDeny=ipv4:tcp:8000-9000", "127.0.0.1:8377", "SocketBindDeny=ipv4:tcp:8000-9000"),
        ("SocketBindDeny=any\nSocketBindAllow=tcp:8378 udp:8377", "127.0.0.1:8377", "SocketBindDeny=any"),
        ("IPAddressDeny=::/0 0.0.0.0/0", "127.0.0.1:8377", "IPAddressDeny=::/0 0.0.0.0/0"),
        ("IPAddressDeny=::/0 0.0.0.0/0", "0.0.0.0:8377", "IPAddressDeny=::/0 0.0.0.0/0"),
        ("IPAddressDeny=127.0.0.0/8", "127.0.0.1:8377", "IPAddressDeny=127.0.0.0/8"),
        ("IPAddressDeny=::1", "[::1]:8377", "IPAddressDeny=::1"),
    ])
    func `a setting that forbids the address is named`(_ lines: String, _ address: String, _ setting: String) throws {
        let obstacle = try #require(try obstacle(lines, address))
        #expect(obstacle.reason.contains(setting) && obstacle.remedy.hasPrefix("systemctl edit penstock, and in"))
    }

    @Test(arguments: [
        ("RestrictAddressFamilies=", "127.0.0.1:8377"), ("RestrictAddressFamilies=~AF_NETLINK AF_PACKET", "[::1]:8377"),
        ("SocketBindDeny=any\nSocketBindAllow=ipv4:tcp:8377", "127.0.0.1:8377"),
        ("SocketBindDeny=ipv6:any", "127.0.0.1:8377"), ("SocketBindDeny=udp:any", "127.0.0.1:8377"),
        ("SocketBindDeny=tcp:1-1023", "127.0.0.1:8377"), ("SocketBindDeny=99999999", "127.0.0.1:8377"),
        ("IPAddressDeny=::/0 0.0.0.0/0\nIPAddressAllow=127.0.0.0/8 ::1/128", "127.0.0.1:8377"),
        ("IPAddressDeny=::/0 0.0.0.0/0\nIPAddressAllow=10.0.0.0/8", "0.0.0.0:8377"),
        ("IPAddressDeny=10.0.0.0/8", "0.0.0.0:8377"), ("IPAddressDeny=128.0.0.0/1", "127.0.0.1:8377"),
        ("IPAddressDeny=x 1.2.3.4/99 /", "127.0.0.1:8377"),
    ])
    func `a setting that leaves the address alone is not`(_ lines: String, _ address: String) throws {
        #expect(try obstacle(lines, address) == nil)
    }

    @Test func `the check reports the address and the certificates at their places`() throws {
        let unit = try #require(
            ServiceUnit(
                ServiceUnit.parse(Self.shipped.replacing("SocketBindDeny=\n", with: "SocketBindDeny=any\n")),
                sockets: []))
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "p.yaml",
            """
            sources:
              web: { http: "127.0.0.1:8377", write_keys: [!secret k], tls: { certificate: /home/ada/c.pem } }
            routes: [ { to: [d] } ]
            destinations: { d: { file: /var/lib/penstock/x } }
            control: { metrics: 127.0.0.1:9377 }
            """)
        let found = ConfigurationCheck.loader(
            pluginDirectories: [], for: .rehearsal, sockets: unit.sockets, sandbox: unit.sandbox
        ).load(file: file).errors.map { "\($0.place.line):\($0.place.column) \($0.message)" }
        #expect(
            found.contains(
                "2:16 penstock.service cannot serve 127.0.0.1:8377: its sandbox has SocketBindDeny=any"), "\(found)")
        #expect(
            found.contains(
                "5:21 penstock.service cannot serve 127.0.0.1:9377: its sandbox has SocketBindDeny=any"), "\(found)")
        #expect(
            found.contains(
                "2:79 penstock.service cannot read /home/ada/c.pem: its sandbox has ProtectHome=yes"), "\(found)")
    }
}
