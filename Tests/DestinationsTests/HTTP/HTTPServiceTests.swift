import Delivery
import Destinations
import TestSupport
import Testing

/// Tests against Debian's nginx, which speaks what real services speak.
@Suite struct HTTPServiceTests {
    private func options(_ server: NginxServer, _ directory: String) -> HTTPOptions {
        var options = HTTPOptions(url: "https://127.0.0.1:\(server.port)/in", version: "1")
        options.tls.caFile = directory + "/cert.pem"
        options.format = .ndjson
        return options
    }

    @Test func `HTTP 2 requests share one connection where the server offers it`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try NginxServer(in: directory)
            defer { server.stop() }
            var options = options(server, directory)
            options.requests = 8...8
            let harness = try HTTPHarness(options)
            defer { harness.stop() }
            let body = "{\"x\":\"" + String(repeating: "y", count: 200_000) + "\"}"
            let settled = (0..<64).map { _ in harness.offer(outbound([body])) }
            for one in settled {
                let settlement = try one.wait()
                #expect(settlement.isDelivered, "\(settlement)")
            }
            #expect(eventually { server.requests.count == 64 })
            #expect(Set(server.requests.map(\.version)) == ["HTTP/2.0"])
            #expect(Set(server.requests.map(\.connection)).count == 1)
        }
    }

    @Test func `a client shows its certificate to a service that requires one`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try NginxServer(
                in: directory, "ssl_verify_client on; ssl_client_certificate \(directory)/cert.pem;")
            defer { server.stop() }
            var options = options(server, directory)
            let stranger = try HTTPHarness(options)
            defer { stranger.stop() }
            guard case .all(.someRejected(let reason, _)) = try stranger.deliver(outbound(["{}"])) else {
                Issue.record("accepted without a certificate")
                return
            }
            #expect(reason == "HTTP 400")
            options.tls.certificateFile = directory + "/cert.pem"
            options.tls.keyFile = directory + "/key.pem"
            let known = try HTTPHarness(options)
            defer { known.stop() }
            #expect(try known.deliver(outbound(["{}"])).isDelivered)
            #expect(eventually { server.requests.last?.client == "CN=receiver" })
        }
    }

    @Test func `a configured server name is requested and verified instead of the host`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory, for: "DNS:api.example")
            let server = try NginxServer(in: directory)
            defer { server.stop() }
            var options = options(server, directory)
            let wrong = try HTTPHarness(options)
            defer { wrong.stop() }
            guard case .retry(let reason, _, _) = try wrong.outcome(of: outbound(["{}"])) else {
                Issue.record("accepted for the wrong name")
                return
            }
            #expect(reason.contains("127.0.0.1"))
            options.tls.serverName = "api.example"
            let right = try HTTPHarness(options)
            defer { right.stop() }
            #expect(try right.outcome(of: outbound(["{}"])) == .delivered)
            #expect(eventually { server.requests.last?.serverName == "api.example" })
            #expect(server.requests.last?.host == "127.0.0.1:\(server.port)")
        }
    }

    @Test func `a minimum version of TLS 1.3 rejects a TLS 1.2 server`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try NginxServer(in: directory, "ssl_protocols TLSv1.2;")
            defer { server.stop() }
            var options = options(server, directory)
            let lenient = try HTTPHarness(options)
            defer { lenient.stop() }
            #expect(try lenient.outcome(of: outbound(["{}"])) == .delivered)
            options.tls.minimumVersion = .v1_3
            let strict = try HTTPHarness(options)
            defer { strict.stop() }
            guard case .retry = try strict.outcome(of: outbound(["{}"])) else {
                Issue.record("TLS 1.2 was used")
                return
            }
        }
    }

    @Test(arguments: [
        ("http", "CONNECT 127.0.0.1:PORT HTTP/1.1"), ("socks5", "socks5 127.0.0.1:PORT"),
        ("socks5h", "socks5 127.0.0.1:PORT"),
    ])
    func `a service behind a proxy is reached with end-to-end encryption`(scheme: String, asked: String) throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try NginxServer(in: directory)
            defer { server.stop() }
            let proxy = try ForwardProxy(to: server.port)
            defer { proxy.stop() }
            var options = options(server, directory)
            options.proxy = "\(scheme)://127.0.0.1:\(proxy.port)"
            let harness = try HTTPHarness(options)
            defer { harness.stop() }
            let outcome = try harness.outcome(of: outbound(["{}"]))
            #expect(outcome == .delivered)
            #expect(proxy.asked == [asked.replacing("PORT", with: "\(server.port)")])
            #expect(eventually { server.requests.count == 1 })
        }
    }
}
