import Routing
import TestSupport
import Testing

@testable import Configuration

/// `preset: NAME`: what comes of the preset's keys and the user's, and where an error is shown.
@Suite("Presets in a configuration")
struct PresetTests {
    private static let echo = """
        title: Echo
        description: what is shouted comes back
        settings:
          key: { description: the key, required: true, secret: true }
          tone: { description: the tone, default: low, values: { low: l, high: h } }
          room: { description: the room, pattern: "[a-z]+" }
        destination:
          http: https://{{ setting.key }}@echo.example/v1/{{ setting.tone }}?room={{ setting.room }}
          headers: { X-Tone: "{{ setting.tone }}", X-Kind: "{{ type }}" }
          batch: { events: 7, wait: 2s }
          transforms: [ drop: [context] ]
          mapping: { tone: "{{ setting.tone }}", room: "{{ setting.room }}" }
          limits: [ { path: tone, max_length: 3 } ]
        """

    /// Loads a configuration with one destination, `out`, beside presets of the user's.
    private func load(_ lines: String, _ presets: [String: String] = ["echo": echo]) throws -> (LoadResult, directory: String) {
        let directory = try TemporaryDirectory()
        try directory.write("p.yaml", withDestination(lines))
        for (name, text) in presets { try directory.write("presets/\(name).yaml", text) }
        var loader = ConfigurationLoader()
        loader.secretStandIn = { "<\($0)>" }
        return withExtendedLifetime(directory) { (loader.load(file: directory.path + "/p.yaml"), directory.path) }
    }

    private func http(_ lines: String) throws -> (Configuration.HTTP, Configuration.Destination) {
        let result = try load(lines).0
        let destination = try #require(result.configuration?.destinations.first, "\(result.diagnostics)")
        guard case .http(let http) = destination.kind else { throw NotHTTP() }
        return (http, destination)
    }

    private struct NotHTTP: Error {}

    @Test("Settings are filled in, as secrets and as what they stand for; one that is not given leaves nothing")
    func settings() throws {
        let (low, destination) = try http("preset: echo\nkey: !secret k")
        #expect(low.url == "https://%3Ck%3E@echo.example/v1/l?room=")
        #expect("\(low.urlText)" == "https://<secret k>@echo.example/v1/l?room=")
        #expect(low.headers.map(\.name) == ["X-Tone", "X-Kind"] && low.headers[0].value == "l")
        #expect(destination.batch == .init(events: 7, bytes: 1 << 20, wait: .seconds(2)))
        #expect(destination.preset == .init(name: "echo", title: "Echo"))
        #expect(destination.outputs.count == 1, "a header depends on the event")
        let (high, _) = try http("preset: echo\nkey: !secret k\ntone: high\nroom: attic")
        #expect(high.url.hasSuffix("/v1/h?room=attic"))
    }

    @Test("What the user writes is joined with the preset's, or replaces it, by what it is")
    func overrides() throws {
        let (http, destination) = try http(
            """
            preset: echo
            key: !secret k
            headers: { x-tone: mine, X-More: 1 }
            batch: { events: 9 }
            transforms: [ rename: { properties.a: b } ]
            limits: []
            format: single
            """)
        #expect(http.headers.map { "\($0.name): \($0.value)" } == ["X-Kind: \u{0}", "x-tone: mine", "X-More: 1"])
        #expect(destination.batch == .init(events: 9, bytes: 1 << 20, wait: .seconds(2)))
        #expect(destination.transforms.map(\.name) == ["rename", "drop"], "the preset's come last")
        #expect(http.limits.limits.isEmpty && http.format == .single)
    }

    @Test("url replaces what it names of the address, and nothing else", arguments: [
        ("http://127.0.0.1:8080", "http://%3Ck%3E@127.0.0.1:8080/v1/l?room="),
        ("http://127.0.0.1:8080/", "http://%3Ck%3E@127.0.0.1:8080/v1/l?room="),
        ("https://proxy.example/echo", "https://%3Ck%3E@proxy.example/echo?room="),
        ("https://me:word@proxy.example?x=1", "https://me:word@proxy.example/v1/l?x=1"),
        ("unix:/run/e.sock", "unix:/run/e.sock:/v1/l?room="),
        ("unix:/run/e.sock:/other", "unix:/run/e.sock:/other?room="),
    ])
    func address(_ url: String, _ expected: String) throws {
        #expect(try http("preset: echo\nkey: !secret k\nurl: \(url)").0.url == expected)
    }

    @Test("A user's mistakes are shown in the user's file", arguments: [
        ("preset: echo", "p.yaml:4:3: error: the preset \"echo\" needs \"key\""),
        ("preset: echoo", "p.yaml:5:13: error: there is no preset \"echoo\""),
        ("preset: echo\nkey: k", "p.yaml:6:10: error: \"key\" has to be a secret, not a single value"),
        ("preset: echo\nkey: !secret k\ntone: shrill", "p.yaml:7:11: error: \"tone\" has to be one of low, high"),
        ("preset: echo\nkey: !secret k\nroom: Attic", "p.yaml:7:11: error: \"room\" has to match [a-z]+"),
        ("preset: echo\nkey: !secret k\nhttp: http://h/", "p.yaml:7:5: error: \"http\" beside a preset, which says itself what kind of destination it is"),
        ("preset: echo\nkey: !secret k\nurl: mailto", "p.yaml:7:10: error: \"mailto\" is not a URL of http or https"),
        ("preset: mixpanel\ntoken: !secret k\nurl: ftp://h", "p.yaml:7:10: error: \"ftp://h\" is not a URL of http or https"),
        ("preset: segment\nwrite_key: k", "p.yaml:6:16: error: \"write_key\" has to be a secret, not a single value"),
        ("preset: echo\nkey: !secret k\nkeys: 5", "p.yaml:7:5: error: unknown key \"keys\" in destination \"out\""),
        ("preset: echo\nkey: !secret k\nbatch: { events: 0 }", "p.yaml:7:22: error: \"events\" has to be from 1 to 100000"),
        ("preset: mixpanel\ntoken: !secret k\nurl: http://h/path", "p.yaml:7:10: error: this preset sends to several paths, which one cannot replace"),
    ])
    func usersMistakes(_ lines: String, _ expected: String) throws {
        let result = try load(lines)
        let shown = result.0.errors.map { String($0.description.prefix { $0 != "\n" }).replacing(result.directory + "/", with: "") }
        #expect(shown == [expected])
    }

    @Test("A setting that is misspelt is suggested, and one that is missing is told once")
    func misspelt() throws {
        let result = try load("preset: webhook\nsecrt: !secret k")
        #expect(
            result.0.errors.map { "\($0.message) | \($0.hint ?? "")" } == [
                "the preset \"webhook\" needs \"url\" | add url: … (where they go; may hold values of the event and secrets)",
                "the preset \"webhook\" needs \"secret\" | add secret: !secret NAME (what the receiver knows as well, to check the signature)",
                "unknown key \"secrt\" in destination \"out\" | did you mean \"secret\"?",
            ])
        #expect(result.0.warnings.isEmpty)
    }

    @Test("A preset's mistakes are shown in the preset's file, once each", arguments: [
        ("title: Echo\ndescription: d\ndestination: { http: https://h/, formt: single }", ["echo.yaml:3:34: error: unknown key \"formt\" in destination \"out\""]),
        ("title: Echo\ndescription: d\ndestination: { http: https://h/, mapping: { a: { $dat: 1 } } }", ["echo.yaml:3:50: error: unknown directive $dat"]),
        ("title: Echo\ndescription: d\ndestination: { http: \"https://h/{{ setting.none }}\" }", ["echo.yaml:3:22: error: the preset has no setting \"none\""]),
        ("title: Echo\ndestination: { http: https://h/ }", ["echo.yaml:1:1: error: the preset \"echo\" needs \"description\""]),
        ("title: [", ["echo.yaml:1:1: error: not YAML: did not find expected node content"]),
    ])
    func presetsMistakes(_ text: String, _ expected: [String]) throws {
        let result = try load("preset: echo", ["echo": text])
        let shown = result.0.errors.map { String($0.description.prefix { $0 != "\n" }).replacing(result.directory + "/presets/", with: "") }
        #expect(shown == expected)
    }

    @Test("A user's preset stands in for a shipped one of its name, and check says so")
    func replaced() throws {
        let result = try load("preset: mixpanel\nkey: !secret k", ["mixpanel": Self.echo]).0
        #expect(result.configuration?.destinations.first?.preset?.title == "Echo")
        #expect(result.warnings.map(\.message) == ["presets/mixpanel.yaml stands in for the preset of that name that comes with Penstock"])
    }

    @Test("A configuration with a preset differs from one with another setting, and from itself in nothing")
    func difference() throws {
        let (a, b) = try (load("preset: echo\nkey: !secret k").0.configuration, load("preset: echo\nkey: !secret k\ntone: high").0.configuration)
        let (old, new) = (try #require(a), try #require(b))
        #expect(ConfigurationDifference(from: old, to: new).destinations.changed == ["out"])
        #expect(ConfigurationDifference(from: old, to: try #require(try load("preset: echo\nkey: !secret k").0.configuration)).isEmpty)
    }
}
