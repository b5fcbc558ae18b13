import Foundation
import Platform
import TestSupport
import Testing

@testable import DaemonConfiguration

/// `sources.NAME` with `http`.
@Suite struct HTTPSourceTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("k1", "0123456789abcdef\n")
        try directory.write("k2", "another write key")
        try directory.write("pem", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n")
        try directory.write("short", "abc")
        try directory.write("colon", "abcdefgh:ij")
        try directory.write("control", "abcdefgh\nij")
        try directory.write("empty", "")
    }

    private func load(_ lines: String) -> LoadResult {
        let text = """
            sources:
              web:
            \(lines.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n"))
            routes: [ { to: [out] } ]
            destinations: { out: { file: /d/out } }
            """
        return ConfigurationLoader(credentialsDirectory: directory.path).load(text: text, named: "/etc/penstock/p.yaml")
    }

    private func source(_ lines: String) throws -> Configuration.Source {
        let result = load(lines)
        return try #require(result.configuration?.sources.first, "\(result.diagnostics)")
    }

    @Test func `every key of HTTP is loaded into its property`() throws {
        let result = load(
            """
            socket: /run/s
            http: 0.0.0.0:8443
            write_keys: [!secret k1, !secret k2]
            tls: { certificate: tls/cert.pem, key: /etc/key.pem, client_ca: ca.pem }
            allow_origins: [https://shop.example, "http://LOCALHOST:3000", "https://[::1]:443", capacitor://localhost]
            max_batch_events: 7
            max_batch_size: 64KiB
            max_request_head: 8KiB
            max_decompression_ratio: 50
            max_wait: 3s
            """)
        let source = try #require(result.configuration?.sources.first, "\(result.diagnostics)")
        #expect(result.diagnostics.isEmpty)
        let http = try #require(source.http)
        #expect(source.socket == "/run/s" && http.address == SocketAddress("0.0.0.0:8443") && !http.insecure)
        #expect(
            http.tls
                == .init(
                    certificate: "/etc/penstock/tls/cert.pem", key: .file("/etc/key.pem"),
                    clientCA: "/etc/penstock/ca.pem"))
        #expect(source.writeKeys.map(\.plain) == ["0123456789abcdef", "another write key"])
        #expect(source.writeKeys.map(\.name) == ["k1", "k2"])
        #expect(
            source.allowedOrigins
                == .only(["https://shop.example", "http://localhost:3000", "https://[::1]", "capacitor://localhost"]))
        #expect(
            source.httpLimits
                == .init(
                    batchEvents: 7, batchSize: 64 << 10, requestHead: 8 << 10, decompressionRatio: 50,
                    wait: .seconds(3)))
    }

    @Test func `a source may have HTTP without a socket, and has the contract's limits`() throws {
        let source = try source("http: localhost:8377\nwrite_keys: [!secret k1]")
        #expect(source.socket.isEmpty && source.plugin == nil && source.allowedOrigins == nil)
        #expect(source.http == .init(address: try #require(SocketAddress("127.0.0.1:8377"))))
        #expect(
            source.httpLimits
                == .init(
                    batchEvents: 2_500, batchSize: 500 << 10, requestHead: 16 << 10, decompressionRatio: 100,
                    wait: .seconds(10)))
    }

    @Test func `a private key may be a secret, or in the certificate's file`() throws {
        let keys = "http: 127.0.0.1:1\nwrite_keys: [!secret k1]\n"
        let secret = try source(keys + "tls: { certificate: c.pem, key: !secret pem }")
        guard case .secret(let key)? = secret.http?.tls?.key else {
            Issue.record("no secret")
            return
        }
        #expect(key.plain.hasPrefix("-----BEGIN PRIVATE KEY-----\nabc\n"))
        #expect(try source(keys + "tls: { certificate: c.pem }").http?.tls?.key == .inCertificate)
    }

    @Test(arguments: [
        ("127.0.0.1:8377", true), ("127.8.8.8:1", true), ("localhost:0", true), ("\"[::1]:8377\"", true),
        ("0.0.0.0:8377", false), ("\"[::]:8377\"", false), ("10.0.0.5:8377", false), ("\"[2001:db8::1]:80\"", false),
    ])
    func `an address that other machines reach needs TLS, or insecure`(_ address: String, _ isLoopback: Bool) {
        let keys = "http: \(address)\nwrite_keys: [!secret k1]\n"
        let result = load(keys)
        #expect((result.configuration != nil) == isLoopback)
        if !isLoopback {
            #expect(result.errors.map(\.place.line) == [3] && result.errors[0].place.column == 11)
            #expect(result.errors.first?.message.contains("other machines can reach") == true)
            #expect(result.errors.first?.hint?.contains("insecure: true") == true)
        }
        #expect(load(keys + "insecure: true").diagnostics.isEmpty)
        #expect(load(keys + "tls: { certificate: c.pem }").diagnostics.isEmpty)
        #expect((load(keys + "insecure: false").configuration != nil) == isLoopback)
    }

    private static let listening = "http: 127.0.0.1:1\nwrite_keys: [!secret k1]\n"

    @Test(arguments: [
        ("http: 8377\nwrite_keys: [!secret k1]", "\"8377\" is not an address and a port"),
        ("http: shop.example:80\nwrite_keys: [!secret k1]", "\"shop.example:80\" is not an address and a port"),
        ("http: 127.0.0.1:65536\nwrite_keys: [!secret k1]", "\"127.0.0.1:65536\" is not an address and a port"),
        ("http: [a]\nwrite_keys: [!secret k1]", "\"http\" must be an address and a port, not a list"),
        ("http:\nwrite_keys: [!secret k1]", "\"http\" has no value"),
        ("http: !secret k1\nwrite_keys: [!secret k1]", "\"http\" must be an address and a port, not a secret"),
        (
            "http: 127.0.0.1:1",
            "\"http\" needs at least one write key: otherwise every user of this machine, and every website in a"
                + " browser on it, could send events"
        ),
        (
            "http: 127.0.0.1:1\nwrite_keys: []",
            "\"http\" needs at least one write key: otherwise every user of this machine, and every website in a"
                + " browser on it, could send events"
        ),
        (
            "http: 127.0.0.1:1\nwrite_keys: !secret k1",
            "\"write_keys\" must be a list of secrets, not a secret"
        ),
        ("http: 127.0.0.1:1\nwrite_keys: [t0psecret]", "a write key must be a secret, not a single value"),
        ("http: 127.0.0.1:1\nwrite_keys: t0psecret", "\"write_keys\" must be a list of secrets, not a single value"),
        ("http: 127.0.0.1:1\nwrite_keys: [!secret k1, !secret k1]", "the secret k1 is named twice"),
        (
            "http: 127.0.0.1:1\nwrite_keys: [!secret empty]",
            "the write key empty is empty, so it would admit everybody"
        ),
        (
            "http: 127.0.0.1:1\nwrite_keys: [!secret control]",
            "the write key control holds a control character, which no client can send"
        ),
        ("http: 127.0.0.1:1\nwrite_keys: [!secret ../x]", "\"../x\" cannot be the name of a secret"),
        ("socket: /run/s\ntls: { certificate: c.pem }", "\"tls\" needs \"http\""),
        ("socket: /run/s\ninsecure: true", "\"insecure\" needs \"http\""),
        (listening + "tls: {}", "\"tls\" needs \"certificate\""),
        (listening + "tls: { key: k.pem }", "\"tls\" needs \"certificate\""),
        (listening + "tls: { certificate: !secret pem }", "\"certificate\" must be a path, not a secret"),
        (
            listening + "tls: { certificate: c, key: \"-----BEGIN PRIVATE KEY-----\\nt0psecret\" }",
            "\"key\" must be a path or a secret, not the private key itself"
        ),
        (listening + "mode: \"0600\"", "\"mode\" is about the Unix socket, and this source has none"),
        (listening + "allow: { users: [root] }", "\"allow\" is about the Unix socket, and this source has none"),
        (listening + "allow_origins: \"*\"", "\"allow_origins\" must be a list of origins, not a single value"),
        (
            listening + "allow_origins: [\"*\", https://a.example]",
            "\"*\" allows every origin, so the others have no effect"
        ),
        (listening + "max_batch_events: 0", "\"max_batch_events\" must be from 1 to 1000000"),
        (listening + "max_batch_size: 1", "\"max_batch_size\" must be from 1KiB to 64MiB"),
        (listening + "max_decompression_ratio: 0", "\"max_decompression_ratio\" must be from 1 to 2000"),
        (listening + "max_wait: 0s", "\"max_wait\" must be from 100ms to 1d"),
        (
            listening + "max_batch_size: 2MiB\nmax_buffered: 1MiB",
            "a batch of 2MiB (max_batch_size) does not fit into max_buffered, which is 1MiB"
        ),
        (listening + "plugin: nats", "a source has either a plugin, or socket and http"),
        ("plugin: nats\nhttp: 127.0.0.1:1", "a source has either a plugin, or socket and http"),
        ("plugin: nats\nwrite_keys: []", "\"write_keys\" belongs to a source with \"socket\" instead"),
    ])
    func `a mistake in the keys of HTTP is one error`(_ lines: String, _ message: String) {
        let result = load(lines)
        #expect(result.errors.map(\.message) == [message])
        for shown in result.diagnostics.map(\.description) { #expect(!shown.contains("t0psecret")) }
    }

    @Test(arguments: [
        "shop.example", "https://", "https://shop.example/", "https://shop.example/path", "https://*.shop.example",
        "https://a b", "https://u@shop.example", "https://shop.example:", "https://shop.example:0",
        "https://shop.example:99999", "https://shop.example:+1", "://shop.example", "1http://a",
        "https://bücher.example",
        "null", "https://[::1", "https://[zz]", "https://a:1:2", "https://?", "*.example",
    ])
    func `an origin is a scheme, a host and perhaps a port`(_ text: String) {
        let result = load(Self.listening + "allow_origins: [\"\(text)\"]")
        #expect(result.errors.map(\.message).contains("\"\(text)\" is not an origin") || text == "null")
        #expect(result.errors.count == 1)
    }

    @Test(arguments: [
        ("https://shop.example/", "write https://shop.example"), ("shop.example", "write https://shop.example"),
        ("https://*.shop.example", Origin.hint),
    ])
    func `the hint of an origin's error shows what was meant`(_ text: String, _ hint: String) {
        #expect(load(Self.listening + "allow_origins: [\"\(text)\"]").errors.first?.hint == hint)
    }

    @Test func `an asterisk alone allows every origin`() throws {
        #expect(try source(Self.listening + "allow_origins: [\"*\"]").allowedOrigins == .any)
        #expect(try source(Self.listening + "allow_origins: []").allowedOrigins == .only([]))
    }

    @Test(arguments: [
        ("[!secret short]", "the write key short has less than 8 bytes, so it can be guessed"),
        (
            "[!secret colon]",
            "the write key colon holds a colon, so clients that send it by Basic authentication are refused"
        ),
    ])
    func `a weak write key is a warning that does not show it`(_ keys: String, _ message: String) {
        let result = load("http: 127.0.0.1:1\nwrite_keys: \(keys)")
        #expect(result.configuration != nil && result.warnings.map(\.message) == [message])
        #expect(result.warnings.allSatisfy { !$0.description.contains("abc") })
    }

    @Test func `an event that does not fit into a batch is a warning`() {
        let result = load(Self.listening + "max_event_size: 1MiB")
        #expect(
            result.warnings.map(\.message) == [
                "an event of 1MiB (max_event_size) does not fit into max_batch_size, which is 500KiB"
            ])
        #expect(load("socket: /run/s\nmax_event_size: 1MiB").diagnostics.isEmpty)
    }

    @Test func `a socket's write keys are optional, and a missing secret is reported once`() throws {
        #expect(try source("socket: /run/s\nwrite_keys: [!secret k1]").writeKeys.count == 1)
        #expect(try source("socket: /run/s").writeKeys.isEmpty)
        let missing = load("http: 127.0.0.1:1\nwrite_keys: [!secret nowhere]")
        #expect(missing.diagnostics.map(\.message) == ["there is no secret nowhere in \(directory.path)"])
    }

    @Test func `outside the service, write keys that cannot be read are a warning`() throws {
        let text = """
            sources: { web: { http: "127.0.0.1:1", write_keys: [!secret k1, !secret k2] } }
            routes: [ { to: [out] } ]
            destinations: { out: { file: /d/out } }
            """
        let result = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
            .load(text: text, named: "p.yaml")
        #expect(result.configuration != nil && result.warnings.count == 2 && result.errors.isEmpty)
    }

    @Test func `no description or dump shows a write key`() throws {
        let source = try source(Self.listening)
        var dumped = ""
        dump(source, to: &dumped)
        for shown in [dumped, "\(source)", String(reflecting: source)] {
            #expect(!shown.contains("0123456789abcdef") && shown.contains("<secret k1>"))
        }
    }

    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1:80", true), ("0.0.0.0:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "127.0.0.1:81", false), ("127.0.0.1:0", "127.0.0.1:0", false),
    ])
    func `two sources cannot listen on one port`(_ first: String, _ second: String, _ isError: Bool) {
        let text = """
            sources:
              a: { http: "\(first)", insecure: true, write_keys: [!secret k1] }
              b: { http: "\(second)", insecure: true, write_keys: [!secret k1] }
            routes: [ { to: [out] } ]
            destinations: { out: { file: /d/out } }
            """
        let both = ConfigurationLoader(credentialsDirectory: directory.path).load(text: text, named: "p.yaml")
        #expect(both.errors.map(\.message) == (isError ? ["source \"a\" listens at \(first) already"] : []))
        #expect(both.errors.allSatisfy { $0.place.line == 3 && $0.note?.place.line == 2 })
    }

    @Test func `a change of the listener, its certificate or a write key changes the source`() throws {
        func configuration(_ lines: String) throws -> Configuration {
            let result = load(lines)
            return try #require(result.configuration, "\(result.diagnostics)")
        }
        let plain = "http: 127.0.0.1:1\nwrite_keys: [!secret k1]\ntls: { certificate: a.pem, key: !secret pem }\n"
        let old = try configuration(plain)
        #expect(ConfigurationDifference(from: old, to: try configuration(plain)).isEmpty)
        for changed in [
            plain.replacing("127.0.0.1:1", with: "127.0.0.1:2"), plain.replacing("a.pem", with: "b.pem"),
            plain.replacing("[!secret k1]", with: "[!secret k1, !secret k2]"), plain + "allow_origins: [\"*\"]",
            plain + "max_wait: 1s", plain + "insecure: true",
        ] {
            let difference = ConfigurationDifference(from: old, to: try configuration(changed))
            #expect(difference.sources == .init(changed: ["web"]), "\(changed)")
        }
        try directory.write("k1", "a new key, at last")
        #expect(
            ConfigurationDifference(from: old, to: try configuration(plain)).sources == .init(changed: ["web"]))
    }
}
