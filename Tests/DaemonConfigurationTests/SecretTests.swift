import Foundation
import TestSupport
import Testing

@testable import DaemonConfiguration

/// Secrets are filled in but never shown.
@Suite struct SecretTests {
    private static let token = "s3cr3t-t0ken\"\\"

    private static let text = """
        sources: { apps: { socket: /run/s } }
        routes: [ { to: [h, p] } ]
        destinations:
          h:
            http: https://h/
            headers: { Authorization: "Bearer {{ secret.token }}!", X-Key: !secret token }
          p:
            plugin: postgres
            settings: { dsn: !secret token, list: [ !secret token ] }
        """

    private func loaded(_ directory: TemporaryDirectory) throws -> Configuration {
        try directory.write("token", Self.token + "\n")
        let result = ConfigurationLoader(credentialsDirectory: directory.path).load(text: Self.text, named: "p.yaml")
        return try #require(result.configuration, "\(result.diagnostics)")
    }

    @Test func `a secret is filled in where it is used, encoded for its place`() throws {
        let directory = try TemporaryDirectory()
        let destinations = try loaded(directory).destinations
        guard case .http(let http) = destinations[0].kind, case .plugin(let plugin) = destinations[1].kind else {
            Issue.record("unexpected kinds of destinations")
            return
        }
        #expect(http.headers.map(\.value) == ["Bearer \(Self.token)!", Self.token])
        #expect(plugin.settings == #"{"dsn":"s3cr3t-t0ken\"\\","list":["s3cr3t-t0ken\"\\"]}"#)
    }

    @Test func `no description, debug description or dump shows a secret`() throws {
        let directory = try TemporaryDirectory()
        let configuration = try loaded(directory)
        var dumped = ""
        dump(configuration, to: &dumped)
        for shown in [
            dumped, "\(configuration)", String(reflecting: configuration),
            String(describing: configuration.destinations),
        ] {
            #expect(!shown.contains("s3cr3t"))
            #expect(shown.contains("<secret token>"))
        }
    }

    @Test func `a changed secret changes its destination`() throws {
        let directory = try TemporaryDirectory()
        let old = try loaded(directory)
        try directory.write("token", "another")
        let new = try #require(
            ConfigurationLoader(credentialsDirectory: directory.path).load(text: Self.text, named: "p.yaml")
                .configuration)
        #expect(ConfigurationDifference(from: old, to: new).destinations.changed == ["h", "p"])
    }

    @Test func `a secrets directory is relative to its file, and credentials take precedence`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("credentials/one", "from credentials")
        try directory.write("secrets/one", "from secrets")
        try directory.write("secrets/two", "two")
        let file = try directory.write(
            "p.yaml",
            """
            secrets: { directory: secrets }
            sources: { apps: { socket: /run/s } }
            routes: [ { to: [h] } ]
            destinations: { h: { http: "http://h", headers: { A: "{{secret.one}} {{ secret.two }}" } } }
            """)
        let result = ConfigurationLoader(credentialsDirectory: directory.path + "/credentials").load(file: file)
        guard case .http(let http)? = result.configuration?.destinations.first?.kind else {
            Issue.record("\(result.diagnostics)")
            return
        }
        #expect(http.headers.map(\.value) == ["from credentials two"])
    }

    @Test func `a missing secret is an error, or a warning without a credentials directory`() throws {
        let directory = try TemporaryDirectory()
        var loader = ConfigurationLoader(credentialsDirectory: directory.path, missingSecretsAreWarnings: true)
        let missing = loader.load(text: Self.text, named: "p.yaml")
        #expect(missing.configuration == nil)
        #expect(
            missing.errors.map { "\($0.place.line):\($0.place.column) \($0.message)" } == [
                "6:39 there is no secret token in \(directory.path)",
                "6:68 there is no secret token in \(directory.path)",
                "9:22 there is no secret token in \(directory.path)",
                "9:45 there is no secret token in \(directory.path)",
            ])
        loader.credentialsDirectory = nil
        let unchecked = loader.load(text: Self.text, named: "p.yaml")
        #expect(unchecked.configuration != nil)
        #expect(unchecked.warnings.count == 4)
        loader.missingSecretsAreWarnings = false
        #expect(loader.load(text: Self.text, named: "p.yaml").errors.count == 4)
    }

    @Test(arguments: ["a\nInjected: yes", "a\rb", "tab\t", "nul\0"])
    func `a control character in a header's secret is an error that does not show the secret`(_ value: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write("token", value + "\n")
        let text = Self.text.replacing("plugin: postgres", with: "plugin: sqlite")
        let result = ConfigurationLoader(credentialsDirectory: directory.path).load(text: text, named: "p.yaml")
        #expect(
            result.errors.map(\.message) == [
                "the secret token holds a control character, which a header must not have",
                "the secret token holds a control character, which a header must not have",
            ])
        #expect(!result.diagnostics.contains { $0.description.contains("Injected") })
    }
}
