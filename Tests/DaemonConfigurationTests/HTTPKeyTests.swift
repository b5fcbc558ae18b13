import TestSupport
import Testing

@testable import DaemonConfiguration

/// The keys of HTTP destinations and their values.
@Suite struct HTTPKeyTests {
    private func http(_ lines: String, secrets: [String: String] = [:]) throws -> (
        Configuration.HTTP, Configuration.Destination
    ) {
        let result = try withSecrets(secrets) { load($0, withDestination(lines)) }
        let destination = try #require(result.configuration?.destinations.first, "\(result.diagnostics)")
        guard case .http(let http) = destination.kind else { throw NotHTTP() }
        return (http, destination)
    }

    private struct NotHTTP: Error {}

    private func withSecrets<Result>(_ secrets: [String: String], _ body: (String) throws -> Result) throws -> Result {
        let directory = try TemporaryDirectory()
        for (name, value) in secrets { try directory.write(name, value) }
        return try withExtendedLifetime(directory) { try body(directory.path) }
    }

    private func load(_ credentials: String, _ text: String) -> LoadResult {
        ConfigurationLoader(credentialsDirectory: credentials).load(text: text, named: "/etc/penstock/p.yaml")
    }

    @Test func `the values of TLS, proxy and limit keys are loaded`() throws {
        let (http, destination) = try http(
            """
            http: https://h.example:8443/v1
            compression: zstd
            max_answer: 1MiB
            max_redirects: 3
            tls: { ca_file: ca.pem, certificate: /c/client.pem, key: client.key, minimum_version: "1.3", server_name: api.example }
            proxy: socks5h://user:word@proxy.example:1080
            no_proxy: [.internal, 10.0.0.0/8]
            in_flight: { minimum: 2, maximum: 16 }
            rate_limit: { events_per_second: 30, requests_per_second: 2, burst: 100, per: user }
            order: user
            retry: { attempts: 7 }
            """)
        #expect(http.compression == .zstd && http.maximumAnswer == 1 << 20 && http.maximumRedirects == 3)
        #expect(
            http.tls
                == .init(
                    caFile: "/etc/penstock/ca.pem", certificate: "/c/client.pem", key: "/etc/penstock/client.key",
                    minimumVersion: .v1_3, serverName: "api.example"))
        #expect(
            http.proxy == "socks5h://user:word@proxy.example:1080"
                && http.proxyExceptions == [".internal", "10.0.0.0/8"])
        #expect(destination.inFlight == 2...16)
        #expect(destination.rateLimit == .init(eventsPerSecond: 30, requestsPerSecond: 2, burst: 100, per: .user))
        #expect(destination.order == .user && destination.retry.attempts == 7)
    }

    @Test func `an omitted key has its documented default`() throws {
        let (http, destination) = try http("http: http://h\nin_flight: {}")
        #expect(
            http.maximumAnswer == 64 << 10 && http.maximumRedirects == 0 && http.tls == .init() && http.proxy == nil)
        #expect(destination.inFlight == 1...32 && destination.rateLimit == nil)
    }

    @Test func `a secret in a URL is percent-encoded and shown by its name`() throws {
        let (http, _) = try http(
            """
            http: "https://{{ secret.user }}@h.example/{{secret.path}}?api_secret={{ secret.key }}&v=1"
            proxy: "http://p:{{ secret.key }}@proxy.example"
            """, secrets: ["user": "u@x", "path": "T0/B1", "key": "a b&c=ü%"])
        #expect(http.url == "https://u%40x@h.example/T0%2FB1?api_secret=a%20b%26c%3D%C3%BC%25&v=1")
        #expect(http.proxy == "http://p:a%20b%26c%3D%C3%BC%25@proxy.example")
        #expect("\(http.urlText)" == "https://<secret user>@h.example/<secret path>?api_secret=<secret key>&v=1")
        #expect(Set(http.secrets).isSuperset(of: ["u@x", "T0/B1", "T0%2FB1", "a b&c=ü%"]))
        var text = ""
        dump(http, to: &text)
        #expect(!text.contains("T0") && !text.contains("a b&c"))
    }

    @Test(arguments: ["unix:/run/s.sock", "unix:/run/s.sock:/v1/events?x=1"])
    func `a Unix socket is accepted as a URL`(_ url: String) throws {
        #expect(try http("http: \(url)").0.url == url)
    }
}
