import Delivery
import Destinations
import TestSupport
import Testing

/// Tests against `openssl s_server` from Debian's package `openssl`.
@Suite struct HTTPTLSTests {
    private func outcome(
        _ server: OpenSSLServer, host: String = "127.0.0.1", trusting caFile: String?
    ) throws -> Outcome {
        var options = HTTPOptions(url: "https://\(host):\(server.port)/in", version: "1")
        options.tls.caFile = caFile
        let harness = try HTTPHarness(options)
        defer { harness.stop() }
        return try harness.outcome(of: outbound(["{}"]))
    }

    private func retryReason(_ outcome: Outcome) -> String {
        if case .retry(let reason, _, _) = outcome { reason } else { "not a retry" }
    }

    @Test func `a certificate without a trusted authority is rejected`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try OpenSSLServer(certificateIn: directory)
            defer { server.stop() }
            #expect(retryReason(try outcome(server, trusting: nil)).contains("certificate"))
        }
    }

    @Test func `a certificate for another name is rejected`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try OpenSSLServer(certificateIn: directory)
            defer { server.stop() }
            let outcome = try outcome(server, host: "localhost", trusting: directory + "/cert.pem")
            #expect(retryReason(outcome).contains("localhost"))
        }
    }

    @Test func `a certificate of the configured authority is trusted`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try OpenSSLServer(
                certificateIn: directory, response: "HTTP/1.1 204 No Content\r\n\r\n")
            defer { server.stop() }
            #expect(try outcome(server, trusting: directory + "/cert.pem") == .delivered)
        }
    }

    @Test func `a version of TLS before 1.2 is rejected`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try OpenSSLServer(
                certificateIn: directory, response: "HTTP/1.1 204 No Content\r\n\r\n",
                ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
            defer { server.stop() }
            #expect(retryReason(try outcome(server, trusting: directory + "/cert.pem")).hasPrefix("https://127.0.0.1"))
        }
    }

    @Test func `a missing authority file is named in the error`() throws {
        try withHTTPTestDirectory { directory in
            try OpenSSLServer.makeCertificate(in: directory)
            let server = try OpenSSLServer(certificateIn: directory)
            defer { server.stop() }
            #expect(retryReason(try outcome(server, trusting: directory + "/missing.pem")).contains("missing.pem"))
        }
    }
}
