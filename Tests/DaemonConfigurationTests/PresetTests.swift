import Routing
import TestSupport
import Testing

@testable import DaemonConfiguration

/// `preset: NAME`: how the preset's keys and the user's combine, and where an error is shown.
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

    /// Loads a configuration with one destination, `out`, and with presets of the user.
    private func load(_ lines: String, _ presets: [String: String] = ["echo": echo]) throws -> (
        LoadResult, directory: String
    ) {
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

    @Test func `settings are filled in with their values, and an absent one leaves its place empty`() throws {
        let (low, destination) = try http("preset: echo\nkey: !secret k")
        #expect(low.url == "https://%3Ck%3E@echo.example/v1/l?room=")
        #expect("\(low.urlText)" == "https://<secret k>@echo.example/v1/l?room=")
        #expect(low.headers.map(\.name) == ["X-Tone", "X-Kind"] && low.headers[0].value == "l")
        #expect(destination.batch == .init(events: 7, bytes: 1 << 20, wait: .seconds(2)))
        #expect(destination.preset == .init(name: "echo", title: "Echo"))
        #expect(destination.outputs.count == 1, "one output, because a header depends on the event")
        let (high, _) = try http("preset: echo\nkey: !secret k\ntone: high\nroom: attic")
        #expect(high.url.hasSuffix("/v1/h?room=attic"))
    }

    @Test func `a user's key extends or replaces the preset's key, according to its kind`() throws {
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
        #expect(destination.transforms.map(\.name) == ["rename", "drop"], "the preset's transforms come last")
        #expect(http.limits.limits.isEmpty && http.format == .single)
    }

    private static let kinds = """
        title: Kinds
        description: two kinds of request
        settings: { room: { description: the room } }
        destination:
          http: https://kinds.example/
          limits: [ { path: a, max_length: 1 } ]
          requests:
            - { where: type = "track", mapping: { a: 1 }, headers: { X-A: "1" }, limits: [] }
            - { mapping: { b: 2 } }
        """

    @Test
    func `a key that several kinds of request set separately cannot be replaced for all of them at once`() throws {
        let one = Self.kinds.replacing("    - { mapping: { b: 2 } }", with: "").replacing(
            "limits: [ { path: a, max_length: 1 } ]", with: "")
        let only = try #require(
            try load("preset: kinds\nmapping: { mine: $.event }\nlimits: [ { max_size: 9KiB } ]", ["kinds": one]).0
                .configuration?.destinations.first)
        let mine = try Mapping(.object([.init("mine", .string("$.event"))]))
        #expect(only.outputs.map(\.mapping.mapping) == [mine])
        guard case .http(let http) = only.kind else { throw NotHTTP() }
        #expect(http.alternatives.map(\.limits.limits.first?.maximumSize) == [9 << 10])

        let result = try load("preset: kinds\nlimits: []\nheaders: { x-a: mine, X-B: mine }", ["kinds": Self.kinds]).0
        guard case .http(let both)? = result.configuration?.destinations.first?.kind else { throw NotHTTP() }
        #expect(
            both.alternatives.map { $0.headers.map { "\($0.name): \($0.value)" } } == [
                ["x-a: mine", "X-B: mine"], ["x-a: mine", "X-B: mine"],
            ])
        #expect(both.alternatives.map(\.limits.limits.count) == [0, 0], "an equal key is replaced everywhere")

        for (lines, expected) in [
            ("mapping: { mine: 1 }", "has 2 kinds of request, 2 of them with mapping, which this would not replace"),
            (
                "limits: [ { max_size: 1KiB } ]",
                "has 2 kinds of request, 1 of them with limits, which this would not replace"
            ),
        ] {
            let errors = try load("preset: kinds\n" + lines, ["kinds": Self.kinds]).0.errors
            #expect(errors.map(\.message) == ["the preset \"kinds\" " + expected])
            #expect(errors.map(\.place.line) == [6])
        }
        for name in ["mixpanel", "firebase"] {
            let settings = name == "mixpanel" ? "token: !secret k" : "firebase_app_id: 1:2:ios:a\napi_secret: !secret k"
            let errors = try load("preset: \(name)\n\(settings)\nmapping: { only: $.event }").0.errors.map(\.message)
            #expect(
                errors
                    == (name == "firebase"
                        ? []
                        : [
                            "the preset \"mixpanel\" has 7 kinds of request, 7 of them with mapping, which this would not replace"
                        ]))
        }
    }

    @Test func `a part that is copied from a preset means the same in the configuration`() throws {
        let text = try #require(PresetCatalogue.shipped.first { $0.name == "mixpanel" }?.text)
        let requests = text.split(separator: "\n", omittingEmptySubsequences: false).drop { $0 != "  requests:" }
            .prefix { !$0.hasPrefix("  # With strict=1") }.map { String($0.dropFirst(2)) }.joined(separator: "\n")
        let preset = try #require(try load("preset: mixpanel\ntoken: !secret k\nregion: eu").0.configuration)
        let result = try load("preset: mixpanel\ntoken: !secret k\nregion: eu\n\(requests)").0
        let copy = try #require(result.configuration, "\(result.diagnostics)")
        #expect(ConfigurationDifference(from: preset, to: copy).isEmpty)
        let wrong = try load("preset: kinds\nmapping: { a: \"{{ setting.romo }}\" }", ["kinds": Self.kinds]).0.errors
        #expect(
            wrong.map(\.message).contains("the preset has no setting \"romo\"")
                && wrong.contains { $0.hint == "did you mean \"room\"?" })
        let empty = try load("preset: echo\nkey: !secret k\nmapping: \"{{ setting.room }}\"").0.errors
        #expect(empty.map(\.message) == ["\"mapping\" has no value, which would remove the preset's"])
    }

    @Test(arguments: ["http: https://h/", "preset: echo\nkey: !secret k"])
    func `a key for all requests that no request uses is an error`(_ first: String) throws {
        let errors = try load(
            first
                + "\nmapping: { a: 1 }\nrequests: [ { where: type = \"track\", mapping: { b: 1 } }, { mapping: { c: 1 } } ]"
        ).0.errors
        #expect(errors.map(\.message) == ["each of the requests has its own mapping, so this one is never used"])
        let used = try load(
            first
                + "\nmapping: { a: 1 }\nrequests: [ { where: type = \"track\", mapping: { b: 1 } }, { format: single } ]"
        ).0.errors
        #expect(used.isEmpty)
    }

    @Test func `a key without a value does not change the preset`() throws {
        let (http, destination) = try http("preset: echo\nkey: !secret k\nheaders:\nbatch:\ntransforms:")
        #expect(
            http.headers.map(\.name) == ["X-Tone", "X-Kind"] && destination.batch.events == 7
                && destination.transforms.map(\.name) == ["drop"])
        guard
            case .http(let kinds)? = try load("preset: kinds\nheaders:", ["kinds": Self.kinds]).0.configuration?
                .destinations.first?.kind
        else { throw NotHTTP() }
        #expect(kinds.alternatives.map(\.headers.count) == [1, 0])
        let errors = try load("preset: echo\nkey: !secret k\nlimits:\nmapping:").0.errors.map(\.message)
        #expect(errors == ["limits", "mapping"].map { "\"\($0)\" has no value, which would remove the preset's" })
    }

    @Test(arguments: [
        ("http://127.0.0.1:8080", "http://%3Ck%3E@127.0.0.1:8080/v1/l?room="),
        ("http://127.0.0.1:8080/", "http://%3Ck%3E@127.0.0.1:8080/v1/l?room="),
        ("https://proxy.example/echo", "https://%3Ck%3E@proxy.example/echo?room="),
        ("https://me:word@proxy.example?x=1", "https://me:word@proxy.example/v1/l?x=1"),
        ("unix:/run/e.sock", "unix:/run/e.sock:/v1/l?room="),
        ("unix:/run/e.sock:/other", "unix:/run/e.sock:/other?room="),
    ])
    func `url replaces only the parts of the address that it names`(_ url: String, _ expected: String) throws {
        #expect(try http("preset: echo\nkey: !secret k\nurl: \(url)").0.url == expected)
    }

    @Test(arguments: [
        ("preset: echo", "p.yaml:4:3: error: the preset \"echo\" needs \"key\""),
        ("preset: echoo", "p.yaml:5:13: error: there is no preset \"echoo\""),
        ("preset: echo\nkey: k", "p.yaml:6:10: error: \"key\" must be a secret, not a single value"),
        ("preset: echo\nkey: !secret k\ntone: shrill", "p.yaml:7:11: error: \"tone\" must be one of low, high"),
        ("preset: echo\nkey: !secret k\nroom: Attic", "p.yaml:7:11: error: \"room\" must match [a-z]+"),
        (
            "preset: echo\nkey: !secret k\nhttp: http://h/",
            "p.yaml:7:5: error: \"http\" cannot be combined with a preset: the preset sets the kind of destination"
        ),
        ("preset: echo\nkey: !secret k\nurl: mailto", "p.yaml:7:10: error: \"mailto\" is not a URL of http or https"),
        (
            "preset: mixpanel\ntoken: !secret k\nurl: ftp://h",
            "p.yaml:7:10: error: \"ftp://h\" is not a URL of http or https"
        ),
        ("preset: segment\nwrite_key: k", "p.yaml:6:16: error: \"write_key\" must be a secret, not a single value"),
        ("preset: echo\nkey: !secret k\nkeys: 5", "p.yaml:7:5: error: unknown key \"keys\" in destination \"out\""),
        (
            "preset: echo\nkey: !secret k\nbatch: { events: 0 }",
            "p.yaml:7:22: error: \"events\" must be from 1 to 100000"
        ),
        (
            "preset: mixpanel\ntoken: !secret k\nurl: http://h/path",
            "p.yaml:7:10: error: this preset sends to several paths, which one cannot replace"
        ),
    ])
    func `a user's mistake is shown in the user's file`(_ lines: String, _ expected: String) throws {
        let result = try load(lines)
        let shown = result.0.errors.map {
            String($0.description.prefix { $0 != "\n" }).replacing(result.directory + "/", with: "")
        }
        #expect(shown == [expected])
    }

    @Test func `a misspelt setting has a suggestion, and a missing one is reported once`() throws {
        let result = try load("preset: webhook\nsecrt: !secret k")
        #expect(
            result.0.errors.map { "\($0.message) | \($0.hint ?? "")" } == [
                "the preset \"webhook\" needs \"url\" | add url: … "
                    + "(the URL that receives the events; it may contain fields of the event and secrets)",
                "the preset \"webhook\" needs \"secret\" | add secret: !secret NAME "
                    + "(the key that is shared with the receiver, which checks the signature)",
                "unknown key \"secrt\" in destination \"out\" | did you mean \"secret\"?",
            ])
        #expect(result.0.warnings.isEmpty)
    }

    @Test(arguments: [
        ("preset: mixpanel\ntoken: !secret k\nregoin: eu", "did you mean \"region\"?"),
        ("preset: mixpanel\ntoken: !secret k\nulr: x", "did you mean \"url\"?"),
        ("preset: mixpanel\ntoken: !secret k\nbacth: {}", "did you mean \"batch\"?"),
        ("preset: mixpanel\ntoken: !secret k\nsettings: {}", nil),
        ("preset: kinds\nnothing_like: 1", "the keys are room, url, requests, compression,"),
    ])
    func `an unknown key of a preset gets the nearest one as a suggestion`(_ lines: String, _ hint: String?) throws {
        let errors = try load(lines, ["kinds": Self.kinds]).0.errors
        #expect(errors.count == 1)
        let given = errors.first?.hint
        #expect(
            hint.map { given?.hasPrefix($0) == true }
                ?? (errors.first?.message == "\"settings\" belongs to a plugin destination; this is an HTTP destination")
        )
    }

    @Test(arguments: PresetCatalogue.shipped.map(\.name))
    func `a missing or invalid setting causes no further errors`(_ name: String) throws {
        let settings = try #require(PresetCatalogue.shipped.first { $0.name == name }).settings
        let missing = try load("preset: \(name)").0.diagnostics
        #expect(
            missing.map(\.message)
                == settings.filter(\.isRequired).map { "the preset \"\(name)\" needs \"\($0.name)\"" })
        let wrong = try load("preset: \(name)\n" + settings.map { "\($0.name): [ 5 ]" }.joined(separator: "\n")).0
            .diagnostics
        #expect(wrong.map(\.place.line) == settings.indices.map { 6 + $0 }, "\(wrong)")
        // Keys that do not depend on the settings are still checked.
        let other = try load("preset: \(name)\ntransforms: [ { dorp: [a] } ]\nmax_event_size: 0").0.errors.map(
            \.message)
        #expect(
            other.contains("unknown transform \"dorp\"")
                && other.contains { $0.hasPrefix("\"max_event_size\" must be") }, "\(other)")
    }

    @Test(arguments: [
        (
            "title: Echo\ndescription: d\ndestination: { http: https://h/, formt: single }",
            ["echo.yaml:3:34: error: unknown key \"formt\" in destination \"out\""]
        ),
        (
            "title: Echo\ndescription: d\ndestination: { http: https://h/, mapping: { a: { $dat: 1 } } }",
            ["echo.yaml:3:50: error: unknown directive $dat"]
        ),
        (
            "title: Echo\ndescription: d\ndestination: { http: \"https://h/{{ setting.none }}\" }",
            ["echo.yaml:3:22: error: the preset has no setting \"none\""]
        ),
        (
            "title: Echo\ndestination: { http: https://h/ }",
            ["echo.yaml:1:1: error: the preset \"echo\" needs \"description\""]
        ),
        (
            "title: Echo\ndescription: d\ndestination: { batch: { events: 5 } }",
            ["echo.yaml:3:14: error: the preset \"echo\" needs one of file, http, plugin below \"destination\""]
        ),
        (
            "title: Echo\ndescription: d\ndestination: { preset: mixpanel }",
            ["echo.yaml:3:16: error: a preset cannot use another preset"]
        ),
        (
            "title: Echo\ndescription: d\nsettings: { a: { description: d, values: [x, y], default: z } }\ndestination: { http: \"https://h/{{ setting.a }}\" }",
            ["echo.yaml:3:59: error: \"a\" must be one of x, y"]
        ),
        ("title: [", ["echo.yaml:1:1: error: not YAML: did not find expected node content"]),
    ])
    func `a preset's mistakes are shown in the preset's file, once each`(_ text: String, _ expected: [String]) throws {
        let result = try load("preset: echo", ["echo": text])
        let shown = result.0.errors.map {
            String($0.description.prefix { $0 != "\n" }).replacing(result.directory + "/presets/", with: "")
        }
        #expect(shown == expected)
    }

    @Test func `a user's preset replaces a shipped one of the same name, with a warning`() throws {
        let result = try load("preset: mixpanel\nkey: !secret k", ["mixpanel": Self.echo]).0
        #expect(result.configuration?.destinations.first?.preset?.title == "Echo")
        #expect(
            result.warnings.map(\.message) == [
                "presets/mixpanel.yaml replaces the shipped preset of the same name"
            ])
    }

    @Test func `a preset's configuration differs only when a setting differs`() throws {
        let (a, b) = try (
            load("preset: echo\nkey: !secret k").0.configuration,
            load("preset: echo\nkey: !secret k\ntone: high").0.configuration
        )
        let (old, new) = (try #require(a), try #require(b))
        #expect(ConfigurationDifference(from: old, to: new).destinations.changed == ["out"])
        #expect(
            ConfigurationDifference(
                from: old, to: try #require(try load("preset: echo\nkey: !secret k").0.configuration)
            ).isEmpty)
    }
}
