import Foundation
import TestSupport
import Testing

@testable import DaemonConfiguration

/// Warnings about configurations that are valid but certainly not what the author meant.
@Suite struct AdviceTests {
    /// The warnings of a configuration without errors, as `line:column: message`.
    private func warnings(_ text: String) -> [String] {
        let result = load(text)
        #expect(result.errors.isEmpty, "\(result.errors)")
        #expect(result.warnings.allSatisfy { $0.hint != nil && $0.place.excerpt != nil })
        return result.warnings.map { "\($0.place.line):\($0.place.column): \($0.message)" }
    }

    @Test func `a filter that compares two missing fields is shown with its place, a caret and a suggestion`() {
        #expect(
            shown(withRoute("where: typ = track")) == """
                /etc/penstock/p.yaml:5:12: warning: events have no field typ, so this is always missing
                    where: typ = track
                           ^~~
                hint: did you mean type? if your events have that field, write \\typ
                /etc/penstock/p.yaml:5:18: warning: events have no field track, so this is always missing
                    where: typ = track
                                 ^~~~~
                hint: did you mean "track"? put text in quotes; if your events have that field, write \\track
                """)
    }

    private static let never = "so this is always missing"

    @Test(arguments: [
        ("where: evnt = \"A\"", ["6:12: events have no field evnt, \(never)"]),
        ("transforms: [ { drop: [propertes.debug] } ]", ["6:28: events have no field propertes, \(never)"]),
        (
            "transforms: [ { set: { properties.a: $.evnt, properties.b: \"{{ usrId }}\" } } ]",
            ["6:44: events have no field evnt, \(never)", "6:68: events have no field usrId, \(never)"]
        ),
        ("transforms: [ { set: { propertes.a: 1 } } ]", ["6:28: events have no field propertes, \(never)"]),
        (
            "transforms: [ { set: { properties.a: \"{{ secret.k }}\" } } ]",
            ["6:46: a secret is not filled in here, \(never)"]
        ),
        (
            "transforms: [ { set: { properties.a: { \"@path\": $.event } } } ]",
            ["6:44: @path is not a directive here; it is the name of a member"]
        ),
        ("transforms: [ { hash: { paths: [emial] } } ]", ["6:37: events have no field emial, \(never)"]),
        ("transforms: [ { rename: { traitss.a: b } } ]", ["6:31: events have no field traitss, \(never)"]),
        ("transforms: [ { copy: { contxt.ip: properties.ip } } ]", ["6:29: events have no field contxt, \(never)"]),
        (
            "transforms: [ { sample: { share: 0.5, by: usrId }, where: typ = 1 } ]",
            ["6:47: events have no field usrId, \(never)", "6:63: events have no field typ, \(never)"]
        ),
        (
            "mapping: { a: $.evnt, b: [ \"x {{ contxt.ip }}\" ] }",
            ["6:21: events have no field evnt, \(never)", "6:38: events have no field contxt, \(never)"]
        ),
        (
            "mapping: { a: { $arrayPath: [ $.propertes.items, { id: $.sku } ] } }",
            ["6:37: events have no field propertes, \(never)"]
        ),
        ("mapping: { a: \"{{ secrets.k }}\" }", ["6:23: events have no field secrets, \(never)"]),
        ("mapping: { a: { \"@path\": $.event } }", ["6:21: @path is not a directive here; it is the name of a member"]),
        (
            "mapping: { a: { \"@if\": { exists: { \"@path\": $.userId }, then: 1 } } }",
            [
                "6:21: @if is not a directive here; it is the name of a member",
                "6:40: @path is not a directive here; it is the name of a member",
            ]
        ),
        ("mapping: { a: $properties.plan }", ["6:19: this is a constant text; a path begins with \"$.\""]),
        (
            "mapping: { token: \"Bearer ${TOKEN}\" }",
            [
                "6:23: this looks like a secret, and every user who can read the file can read it",
                "6:31: ${TOKEN} is used unchanged: environment variables are not replaced",
            ]
        ),
        (
            "transforms: [ { lua: \"event.a = 1\" } ]",
            ["6:27: this script never returns a value, so it drops every event"]
        ),
        (
            "transforms: [ { lua: { script: \"local f = function() return event end\" } } ]",
            ["6:37: this script never returns a value, so it drops every event"]
        ),
    ])
    func `a likely mistake in a destination is a warning`(_ line: String, _ expected: [String]) {
        #expect(warnings(withFile(line)) == expected)
    }

    @Test(arguments: [
        "where: \\region = \"eu\"", "transforms: [ { set: { region: eu } }, { drop: [region] } ]",
        "mapping: { a: { \"@type\": Event, \"@id\": $.messageId } }",
        "mapping: { \"@timestamp\": $.timestamp, a: { \"@id\": 1 } }",
        "transforms: [ { lua: \"event.shard = 1 return event\" } ]\nmapping: { s: $.shard }",
        "mapping: { $literal: { a: $.evnt, b: \"${X}\", \"@path\": 1 } }",
        "mapping: { t: { $transform: { apply: { x: $.event }, mapping: $.x } } }",
        "transforms: [ { redact: { patterns: [\"a${b}\"] } } ]", "mapping: { price: \"$5\", id: $insert_id }",
        "transforms: [ { enrich: { host: hostname } } ]\nmapping: { h: $.hostname }",
        "transforms: [ { copy: { userId: tenant } } ]\nwhere: tenant = \"a\"",
        "transforms: [ { rename: { userId: uid } } ]\nmapping: { u: $.uid }",
        "mapping: { token: $.properties.token, password: \"{{ properties.p }}\" }",
    ])
    func `a plainly intended configuration has no warnings`(_ lines: String) {
        #expect(warnings(withFile(lines)) == [])
    }

    @Test(arguments: [
        ("out.ndjson.bz2", "write .gz or .zst to compress it, or leave .bz2 out"),
        ("out.xz", "write .gz or .zst to compress it, or leave .xz out"),
        ("out.lz4", "write .gz or .zst to compress it, or leave .lz4 out"),
        ("out.br", "write .gz or .zst to compress it, or leave .br out"),
        ("out.Z", "write .gz or .zst to compress it, or leave .Z out"),
        ("out.zip", "write .gz or .zst to compress it, or leave .zip out"),
        ("out.7z", "write .gz or .zst to compress it, or leave .7z out"),
        ("%Y-%m.snappy", "write .gz or .zst to compress it, or leave .snappy out"),
        ("out.gzip", "write .gz"), ("out.zstd", "write .zst"), ("out.GZ", "write .gz"), ("out.ZST", "write .zst"),
        ("out.gz", nil), ("out.ndjson.zst", nil), ("out", nil), ("out.json", nil), ("a.xz/out.log", nil), (".zip", nil),
        ("{{ properties.t }}.csv", nil),
    ])
    func `a file name with an unsupported compression's extension is a warning`(_ name: String, _ hint: String?) {
        #expect(load(withDestination("file: \"/d/\(name)\"")).warnings.map(\.hint) == (hint.map { [$0] } ?? []))
    }

    @Test(arguments: [
        ("headers: { Authorization: Bearer abc }", "Authorization: \"Bearer {{ secret.NAME }}\""),
        ("headers: { X-Api-Key: abc }", "X-Api-Key: \"{{ secret.NAME }}\""),
        ("headers: { Private-Token: \"a b\" }", "Private-Token: \"{{ secret.NAME }}\""),
        ("body: { api_key: abc, batch: $events }", "api_key: !secret NAME"),
        ("mapping: { $$token: abc, a: $.event }", "$$token: !secret NAME"),
        ("requests: [ { headers: { Authorization: Basic YWI6Yw== } } ]", "Authorization: \"Basic {{ secret.NAME }}\""),
    ])
    func `a secret in the file is a warning that does not show the secret`(_ line: String, _ advice: String) throws {
        let warnings = load(withDestination("http: https://h/v1\n" + line)).warnings
        let warning = try #require(warnings.first)
        #expect(
            warnings.count == 1
                && warning.message == "this looks like a secret, and every user who can read the file can read it")
        #expect(warning.hint == "put it into a separate file in the directory of the secrets, and write \(advice)")
        let excerpt = try #require(warning.place.excerpt)
        #expect(
            excerpt.contains("***") && !excerpt.contains("abc") && !excerpt.contains("a b")
                && !excerpt.contains("YWI6"), "\(excerpt)")
    }

    @Test func `a secret in an address or in a plugin's settings is a warning that does not show it`() {
        let address = load(withDestination("http: https://h/v1?v=1&api_secret=abc")).warnings
        #expect(
            address.map(\.hint) == [
                "put it into a separate file in the directory of the secrets, and write api_secret={{ secret.NAME }} in the address"
            ])
        #expect(address.allSatisfy { !$0.description.contains("abc") })
        let password = load(withDestination("http: https://user:abc@h/v1")).warnings
        #expect(
            password.map(\.message) == ["a password in a URL is shown in logs and status"]
                && !password[0].description.contains("abc"))
        for line in ["password: abc", "list: [ { token: abc } ]", "dsn: \"postgres://u:abc@h/db\""] {
            let settings = load(withDestination("plugin: sqlite\nsettings: { path: p, \(line) }")).warnings
            #expect(settings.count == 1 && !settings[0].description.contains("abc"), "\(settings)")
        }
        #expect(
            load(withDestination("plugin: sqlite\nsettings: { path: p, key: user_id, max_tokens: 5 }")).warnings.isEmpty
        )
    }

    @Test(arguments: ["Bearer", "Bearer \"", "Basic", "ApiKey"])
    func `a header with a scheme and no credentials is a warning`(_ value: String) {
        let header = value.hasSuffix("\"") ? "\"Bearer \"" : value
        let found = messages(withDestination("http: https://h/\nheaders: { Authorization: \(header) }"))
        #expect(found == ["nothing follows \(value.split(separator: " ")[0]), so the service gets no credentials"])
    }

    @Test func `an unknown path in a header or an address is a warning`() {
        let result = warnings(
            withDestination(
                "http: https://h/{{ usrId }}\nheaders: { X-A: \"{{ evnt }}\", X-B: \"{{ $.evnt }}\", X-C: \"{{ secrets.k }}\" }"
            ))
        #expect(
            result == [
                "5:24: events have no field usrId, \(Self.never)", "6:25: events have no field evnt, \(Self.never)",
                "6:46: events have no field evnt, \(Self.never)", "6:65: events have no field secrets, \(Self.never)",
            ])
    }

    @Test(arguments: [
        ("where: context.penstock.peer.uidd = 1", "did you mean context.penstock.peer.uid?"),
        (
            "transforms: [ { set: { properties.a: $.context.penstock.sorce } } ]",
            "did you mean $.context.penstock.source?"
        ),
        (
            "transforms: [ { copy: { context.penstock.xyzzy.abc: properties.a } } ]",
            "its fields are source, host, peer, peer.uid, peer.gid, peer.pid, peer.user, replay"
        ),
    ])
    func `a field that context.penstock does not have is a warning`(_ line: String, _ hint: String) {
        let result = load(withRoute(line))
        #expect(result.warnings.map(\.message) == ["context.penstock has no such field, \(Self.never)"])
        #expect(result.warnings.first?.hint == hint)
    }

    @Test(arguments: [
        "where: context.penstock.peer.uid = 33 and context.penstock.source = \"apps\"",
        "transforms: [ { set: { context.penstock: $.context.penstock } } ]",
        "transforms: [ { set: { context.penstock.mine: 1 } } ]",
        "transforms: [ { set: { properties.a: \"{{ context.penstock.peer.user }} {{ context.penstock.replay }}\" } } ]",
        "where: \\context.penstock.other = 1",
    ])
    func `the fields of context.penstock have no warning`(_ line: String) {
        #expect(warnings(withRoute(line)) == [])
    }

    @Test func `context.penstock in scrub and in a file's path is a warning`() {
        let text = """
            sources:
              apps: { socket: /run/s, scrub: [ { drop: [context.ip], where: context.penstock.source = "a" } ] }
            routes: [ { to: [out] } ]
            destinations:
              out: { file: "/d/{{ context.penstock.source }}", mapping: { context: $.context } }
              mine: { file: "/d/of/{{ context.penstock.source }}" }
            """
        let result = load(text)
        #expect(result.errors.isEmpty, "\(result.errors)")
        let found = result.warnings.map(\.message).filter { $0.contains("context.penstock") }
        #expect(
            found == [
                "context.penstock is not known before an event is stored, \(Self.never)",
                "this is read from the event's own bytes, where a client can write any context.penstock",
            ])
    }

    @Test func `an empty secret is a warning`() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("k", "\n")
        let text = withDestination("http: https://h/\nheaders: { Authorization: \"Bearer {{ secret.k }}\" }")
        let warnings = ConfigurationLoader(credentialsDirectory: directory.path).load(text: text, named: "p.yaml")
            .warnings
        #expect(warnings.map(\.message) == ["the secret k is empty"] && warnings[0].hint == "write it to \(path)")
    }

    private static let preset = """
        title: Mine
        description: d
        settings: { token: { description: t, secret: true }, tenant: { description: t } }
        destination:
          http: https://h/
          headers: { Authorization: "Bearer {{ setting.token }}", X-Tenant: "{{ setting.tenant }}" }
          body: { key: "k-{{ setting.tenant }}", events: $events }
        """

    private func withPreset(_ lines: String) throws -> LoadResult {
        let directory = try TemporaryDirectory()
        try directory.write("presets/mine.yaml", Self.preset)
        try directory.write("secrets/t", "abc")
        let file = try directory.write(
            "p.yaml", withDestination("preset: mine\n" + lines) + "\nsecrets: { directory: secrets }")
        return ConfigurationLoader(credentialsDirectory: nil).load(file: file)
    }

    private func headers(_ result: LoadResult) throws -> [String] {
        guard case .http(let http)? = result.configuration?.destinations.first?.kind else {
            return ["\(result.diagnostics)"]
        }
        return http.headers.map { "\($0.name): \($0.text.revealed)" }
    }

    @Test func `a preset's header is left out when its setting is absent`() throws {
        let absent = try withPreset("")
        #expect(try headers(absent) == [] && absent.diagnostics.isEmpty, "\(absent.diagnostics)")
        let given = try withPreset("token: !secret t\ntenant: shop")
        #expect(try headers(given) == ["Authorization: Bearer abc", "X-Tenant: shop"] && given.diagnostics.isEmpty)
    }

    @Test func `a user's header that needs an absent setting is a warning`() throws {
        let result = try withPreset("headers: { X-Own: \"a {{ setting.tenant }}\" }")
        #expect(try headers(result) == [])
        #expect(result.warnings.map(\.message) == ["the setting \"tenant\" is not given, so this is left out"])
        #expect(result.warnings.map(\.hint) == ["add tenant: …, or remove this"])
    }

    @Test(arguments: [
        "etc/penstock/penstock.yaml", "etc/penstock/examples/quickstart.yaml",
    ])
    func `a shipped configuration has no warnings`(_ name: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        #expect(
            ConfigurationLoader(credentialsDirectory: nil).load(file: root.appendingPathComponent(name).path)
                .diagnostics.isEmpty)
    }

    @Test(arguments: PresetCatalogue.shipped.map(\.name))
    func `a shipped preset has no warnings`(_ name: String) throws {
        let preset = try #require(PresetCatalogue.shipped.first { $0.name == name })
        let directory = try TemporaryDirectory()
        try directory.write("k", "abc")
        let values = [
            "firebase_app_id": "1:2:ios:a", "measurement_id": "G-1", "container": "iCloud.a.b", "url": "https://h/x",
            "data_plane": "h.example",
        ]
        let keys = preset.settings.filter(\.isRequired).map { setting in
            "\(setting.name): \(setting.isSecret ? "!secret k" : setting.values.first?.name ?? values[setting.name] ?? "a")"
        }
        let file = try directory.write("p.yaml", withDestination((["preset: \(name)"] + keys).joined(separator: "\n")))
        let found = ConfigurationLoader(credentialsDirectory: directory.path).load(file: file)
        #expect(found.warnings.isEmpty, "\(found.diagnostics)")
    }
}
