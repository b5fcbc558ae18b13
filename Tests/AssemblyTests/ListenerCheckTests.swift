import DaemonConfiguration
import Foundation
import Glibc
import Platform
import TestSupport
import Testing

@testable import Assembly

/// The certificates and keys of HTTP listeners, as `penstock check` finds them.
@Suite struct ListenerCheckTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        // Valid for two days.
        try OpenSSLServer.makeCertificate(in: directory.path)
        try directory.write("secrets/write_key", "0123456789abcdef")
    }

    private static let day: Int64 = 86_400

    /// All findings as `COLUMN severity message; hint`, at a time in seconds from now. The `tls` is on line 4.
    private func findings(
        _ tls: String, in seconds: Int64 = -20 * day, occasion: ConfigurationCheck.Occasion = .rehearsal,
        credentials: String? = nil
    ) throws -> [String] {
        var loader = ConfigurationLoader(credentialsDirectory: credentials ?? directory.path + "/secrets")
        loader.missingSecretsAreWarnings = true
        loader.check = { read, diagnostics in
            ListenerCheck(
                read: read, occasion: occasion, diagnostics: diagnostics,
                now: Int64(Date().timeIntervalSince1970) + seconds
            ).run()
        }
        let file = try directory.write(
            "p.yaml",
            """
            sources:
              web:
                http: 127.0.0.1:0
                tls: \(tls)
                write_keys: [!secret write_key]
            routes: [ { to: [d] } ]
            destinations: { d: { file: /d/out } }
            """)
        return loader.load(file: file).diagnostics.map {
            "\($0.place.line):\($0.place.column) \($0.severity) \($0.message); \($0.hint ?? "")".replacing(
                directory.path + "/", with: "")
        }
    }

    @Test func `a certificate with its key has no findings but its age`() throws {
        // 20 days ago, the certificate was not valid yet.
        let found = try findings("{ certificate: cert.pem, key: key.pem }")
        #expect(found.count == 1 && found[0].contains("4:25 warning the certificate is not valid before "), "\(found)")
    }

    @Test func `a certificate that expires soon or has expired is a warning`() throws {
        let tls = "{ certificate: cert.pem, key: key.pem }"
        let soon = try findings(tls, in: 60)
        #expect(
            soon.count == 1 && soon[0].hasPrefix("4:25 warning the certificate expires on 2")
                && soon[0].hasSuffix(" UTC; renew it, then: systemctl reload penstock"), "\(soon)")
        let expired = try findings(tls, in: 3 * Self.day)
        #expect(
            expired.count == 1 && expired[0].hasPrefix("4:25 warning the certificate expired on 2")
                && expired[0].contains("so clients refuse it"), "\(expired)")
        #expect(WarningDescription.all.contains { $0.describes("the certificate expires on 2026-01-01 00:00 UTC") })
    }

    @Test func `a missing file is an error at its key`() throws {
        #expect(
            try findings("{ certificate: nowhere.pem, key: none.key, client_ca: ca.pem }") == [
                "4:25 error the certificate in nowhere.pem cannot be read: open nowhere.pem: No such file or directory; "
                    + "give the path of a PEM file",
                "4:43 error the private key in none.key cannot be read: open none.key: No such file or directory; "
                    + "give the path of a PEM file",
                "4:64 error the clients' certificate authority in ca.pem cannot be read: open ca.pem: "
                    + "No such file or directory; give the path of a PEM file",
            ])
    }

    @Test func `a key of another certificate is an error at the key`() throws {
        try directory.write("other/x", "")
        try OpenSSLServer.makeCertificate(in: directory.path + "/other")
        let found = try findings("{ certificate: cert.pem, key: other/key.pem }", in: 0)
        #expect(
            found.contains {
                $0.hasPrefix(
                    "4:40 error the private key in other/key.pem cannot be used: it does not belong to the certificate; "
                )
            }, "\(found)")
    }

    @Test func `a certificate's file without a key is an error at the certificate`() throws {
        let found = try findings("{ certificate: cert.pem }", in: 0)
        #expect(
            found.contains {
                $0.hasPrefix("4:25 error the private key in cert.pem cannot be used: it has no readable private key")
            },
            "\(found)")
    }

    @Test func `a key in a secret is checked where it can be read, and never shown`() throws {
        let key = try String(contentsOfFile: directory.path + "/key.pem", encoding: .utf8)
        try directory.write("secrets/tls_key", key)
        let tls = "{ certificate: cert.pem, key: !secret tls_key }"
        #expect(try findings(tls, in: -60).filter { $0.contains("error") } == [])
        try directory.write("secrets/tls_key", "t0psecret")
        let found = try findings(tls, in: -60)
        #expect(found.contains { $0.contains("error the private key cannot be used: it has no readable private key") })
        #expect(!found.contains { $0.contains("t0psecret") })
    }

    @Test func `without systemd's credentials, the rest is checked`() throws {
        var loader = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
        loader.check = { read, diagnostics in
            ListenerCheck(read: read, occasion: .rehearsal, diagnostics: diagnostics, now: 0).run()
        }
        let text = """
            sources: { web: { http: "127.0.0.1:0", write_keys: [!secret k], tls: { certificate: CERT, key: !secret t } } }
            routes: [ { to: [d] } ]
            destinations: { d: { file: /d/out } }
            """
        let result = loader.load(
            text: text.replacing("CERT", with: directory.path + "/cert.pem"), named: directory.path + "/p.yaml")
        #expect(result.errors.isEmpty && result.warnings.count == 3, "\(result.diagnostics)")
        let missing = loader.load(text: text.replacing("CERT", with: "/nowhere"), named: directory.path + "/p.yaml")
        #expect(missing.errors.count == 1)
    }

    @Test func `a private key that others can read is a warning of the whole check`() throws {
        let open = try TemporaryDirectory(in: "/tmp")
        try OpenSSLServer.makeCertificate(in: open.path)
        try open.write("secrets/k", "0123456789abcdef")
        let file = try open.write(
            "p.yaml",
            """
            sources: { web: { http: "127.0.0.1:0", write_keys: [!secret k], tls: { certificate: cert.pem, key: key.pem } } }
            secrets: { directory: secrets }
            control: { socket: c }
            journal: { directory: j }
            routes: [ { to: [d] } ]
            destinations: { d: { file: out } }
            """)
        try #require(unsafe chmod(open.path, 0o755) == 0 && chmod(open.path + "/key.pem", 0o644) == 0)
        let report = ConfigurationCheck.run(file: file, pluginDirectories: [])
        #expect(report.isValid, "\(report.diagnostics)")
        #expect(
            report.diagnostics.contains {
                $0.message == "every user of this machine can read this private key" && $0.place.column == 100
            }, "\(report.diagnostics)")
        #expect(report.diagnostics.contains { $0.message.hasPrefix("the certificate expires on ") })
    }
}
