import Control
import Foundation
import Platform
import Testing

/// HTTP over TLS, with certificates that openssl(1) makes and curl(1) as the client.
@Suite struct HTTPSTests {
    private static let body = #"{"event":"E","userId":"u"}"#
    private static let success = "{\"success\":true}\n200\n"

    private func daemon(_ tls: String, address: String = "127.0.0.1:0") throws -> TestDaemon {
        try TestDaemon(httpSource: TestDaemon.httpSource(address, tls))
    }

    /// Writes NAME.pem and NAME.key to the daemon's directory: a certificate for 127.0.0.1.
    /// - Parameter authority: the certificate that signs it; nil: it signs itself.
    private func makeCertificate(_ name: String, _ daemon: TestDaemon, signedBy authority: String? = nil) throws {
        let signer = authority.map { ["-CA", daemon.path($0 + ".pem"), "-CAkey", daemon.path($0 + ".key")] } ?? []
        let made = try Program.run(
            "openssl",
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
                + ["-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1"]
                + ["-keyout", daemon.path(name + ".key"), "-out", daemon.path(name + ".pem")] + signer)
        try #require(made.status == 0, "\(made.errors)")
    }

    private func send(_ daemon: TestDaemon, trusting authority: String?, client: String? = nil) throws -> Program {
        var arguments = ["-sS", "--noproxy", "*", "--max-time", "60", "-w", "%{http_code}\n"]
        if let authority { arguments += ["--cacert", daemon.path(authority + ".pem")] }
        if let client { arguments += ["--cert", daemon.path(client + ".pem"), "--key", daemon.path(client + ".key")] }
        return try Program.run(
            "curl",
            arguments + ["-u", TestDaemon.writeKey + ":", "\(try daemon.url())/v1/track", "-d", Self.body])
    }

    @Test func `a client that trusts the certificate is served, and plain HTTP is refused and counted`() throws {
        let daemon = try daemon("tls: { certificate: server.pem, key: server.key }")
        try makeCertificate("server", daemon)
        try daemon.start()
        defer { daemon.kill9() }
        #expect(try daemon.url().hasPrefix("https://127.0.0.1:"))
        let sent = try send(daemon, trusting: "server")
        #expect(sent.output == Self.success, "\(sent)")
        let suspicious = try send(daemon, trusting: nil)
        #expect(suspicious.status == 60, "curl does not trust it: \(suspicious)")
        let before = try daemon.refused("invalid_request")
        let plain = try daemon.curl(
            "-u", TestDaemon.writeKey + ":", "http://127.0.0.1:\(daemon.port())/v1/track", "-d", Self.body)
        #expect(plain.status != 0 && !plain.output.contains("success"), "\(plain)")
        try eventually("it is counted") { try daemon.refused("invalid_request") == before + 1 }
        #expect(try daemon.status().recentRefusals.last?.detail.contains("(TLS) failed: ") == true)
        let settings = try Program.run(
            "curl",
            ["-sS", "--noproxy", "*", "--max-time", "60", "--cacert", daemon.path("server.pem")]
                + ["\(try daemon.url())/v1/projects/\(TestDaemon.writeKey)/settings"])
        #expect(settings.output.contains("\"protocol\":\"https\""), "\(settings)")
        try daemon.settle(accepted: 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `with client_ca, a client needs a certificate of that authority`() throws {
        let daemon = try daemon("tls: { certificate: server.pem, key: server.key, client_ca: clients.pem }")
        for name in ["server", "clients", "others"] { try makeCertificate(name, daemon) }
        try makeCertificate("friend", daemon, signedBy: "clients")
        try makeCertificate("stranger", daemon, signedBy: "others")
        try daemon.start()
        defer { daemon.kill9() }
        let friend = try send(daemon, trusting: "server", client: "friend")
        #expect(friend.output == Self.success, "\(friend)")
        for client in [nil, "stranger"] {
            let refused = try send(daemon, trusting: "server", client: client)
            #expect(refused.status != 0 && !refused.output.contains("success"), "\(refused)")
        }
        try eventually("they are counted") { try daemon.refused("invalid_request") == 2 }
        try daemon.settle(accepted: 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `an address of all interfaces needs no TLS if the source is insecure`() throws {
        let daemon = try daemon("insecure: true", address: "0.0.0.0:0")
        try daemon.start()
        defer { daemon.kill9() }
        let url = "http://127.0.0.1:\(try daemon.port())/v1/track"
        #expect(try daemon.curl("-u", TestDaemon.writeKey + ":", url, "-d", Self.body).output == Self.success)
        #expect(try daemon.curl(url, "-d", Self.body).output.hasSuffix("401\n"))
        #expect(daemon.terminate() == 0)
        try daemon.write(
            configuration: TestDaemon.toArchive, sources: TestDaemon.httpSource("0.0.0.0:0", "insecure: false"))
        #expect(throws: Failure.self) { try daemon.start() }
        #expect(daemon.log.contains("other machines can reach"), "\(daemon.log)")
    }

    @Test func `new connections get a changed certificate after a reload, and an invalid one changes nothing`() throws {
        let daemon = try daemon(
            "tls: { certificate: server.pem, key: server.key }",
            address: "127.0.0.1:\(try TCPPorts.free())")
        for name in ["server", "second"] { try makeCertificate(name, daemon) }
        try FileManager.default.copyItem(atPath: daemon.path("server.pem"), toPath: daemon.path("first.pem"))
        try daemon.start()
        defer { daemon.kill9() }
        // A request that begins with the first certificate, and ends after the reload.
        let (url, marker) = (try daemon.url(), daemon.path("marker"))
        let upload = """
            { printf '%s' '{"event":"E",'; while [ ! -e \(marker) ]; do sleep 0.02; done; printf '"userId":"u"}'; } |
            curl -sSN --noproxy '*' --max-time 60 --cacert \(daemon.path("first.pem")) -X POST -T - -w '%{http_code}' \
            -u \(TestDaemon.writeKey): \(url)/v1/track
            """
        let slow = BackgroundProgram { try Program.run("timeout", ["-s", "KILL", "90", "bash", "-c", upload]) }
        defer { try? "".write(toFile: marker, atomically: false, encoding: .utf8) }
        try eventually("the request has begun") { try daemon.status().sources["apps"]?.connections == 1 }

        for suffix in [".pem", ".key"] {
            try FileManager.default.removeItem(atPath: daemon.path("server" + suffix))
            try FileManager.default.copyItem(
                atPath: daemon.path("second" + suffix), toPath: daemon.path("server" + suffix))
        }
        #expect(try daemon.reload().applied)
        #expect(try daemon.url() == url)
        #expect(try send(daemon, trusting: "second").output == Self.success)
        #expect(try send(daemon, trusting: "first").status == 60)

        try "no certificate".write(toFile: daemon.path("server.pem"), atomically: true, encoding: .utf8)
        let refused = try daemon.reload()
        #expect(!refused.applied && refused.errors.contains { $0.contains("server.pem") }, "\(refused)")
        #expect(try send(daemon, trusting: "second").output == Self.success)

        try "".write(toFile: marker, atomically: false, encoding: .utf8)
        let uploaded = try slow.result()
        #expect(uploaded.output == "{\"success\":true}\n200", "\(uploaded)")
        try daemon.settle(accepted: 3)
        #expect(daemon.terminate() == 0)
    }
}

/// Ports of this machine.
enum TCPPorts {
    /// A port that no process used a moment ago.
    static func free() throws -> UInt16 {
        let address = try #require(SocketAddress("127.0.0.1:0"))
        return try TCPListener.listen(at: address).localAddress().port
    }

    /// Fails if a process listens at the port.
    static func listen(at port: UInt16) throws {
        let address = try #require(SocketAddress("127.0.0.1:\(port)"))
        _ = try TCPListener.listen(at: address)
    }
}
