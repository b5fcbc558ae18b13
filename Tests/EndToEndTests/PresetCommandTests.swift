import Foundation
import TestSupport
import Testing

/// `penstock presets new` and `penstock presets test`.
@Suite struct PresetCommandTests {
    private let directory: TemporaryDirectory
    private var configuration: String { directory.path + "/penstock.yaml" }

    init() throws { directory = try TemporaryDirectory() }

    /// Makes a preset of a curl command, and returns its text.
    private func make(_ curl: String, name: String = "own") throws -> String {
        let result = try Program.penstock(["presets", "new", "--config", configuration, name], input: curl)
        #expect(result.status == 0, "\(result.errors)")
        return try String(contentsOfFile: directory.path + "/presets/\(name).yaml", encoding: .utf8)
    }

    private func configure(_ destination: String) throws {
        try directory.write("secret", "s3cret-value")
        try directory.write(
            "penstock.yaml",
            """
            sources: { apps: { socket: events.sock } }
            journal: { directory: journal }
            secrets: { directory: "." }
            routes: [ { to: [out] } ]
            destinations: { out: \(destination) }
            """)
    }

    @Test func `an example of several events becomes a mapping of one`() throws {
        let text = try make(
            #"""
            $ curl -X POST 'https://api.crm.example/v2/track?api_key=k1&v=2' \
              -H "Authorization: Bearer abc" -H 'Content-Type: application/json' -u key: \
              --data '{"token": "t", "events": [{"event_name": "A", "user_id": "u", "time": 1769846400000,
                "$insert_id": "5d3c1a52-0c4e-4c57-9d9a-0e1b2f3a4b5c", "properties": {"total": 1}, "fixed": [1, "x"]}]}'
            """#)
        for line in [
            #"  http: "https://{{ setting.user }}@api.crm.example/v2/track?api_key={{ setting.api_key }}&v=2""#,
            #"    Authorization: "Bearer {{ setting.token }}""#, #"    token: "{{ setting.token }}""#,
            "    events: $events", "    event_name: $.event",
            "    user_id: { $first: [ $.userId, $.anonymousId ] }",
            "    time: { $date: { value: $.timestamp, format: epoch_milliseconds } }",
            #"    "$insert_id": { $uuid: $.messageId }"#, "    properties: $.properties", #"    fixed: [1, "x"]"#,
        ] { #expect(text.split(separator: "\n").contains(Substring(line)), "\(line)\n\(text)") }
        #expect(!text.contains("abc") && !text.contains("k1") && !text.contains(" \n"))
        try configure("{ preset: own, user: !secret secret, api_key: !secret secret, token: !secret secret }")
        let check = try Program.penstock(["check", "--config", configuration])
        #expect(check.status == 0, "\(check.errors)")
        // Nothing is overwritten.
        let again = try Program.penstock(
            ["presets", "new", "--config", configuration, "own"], input: "curl https://h/")
        #expect(again.status == 1 && again.errors.contains("exists"))
    }

    @Test func `no credential of the example stays in the preset`() throws {
        let text = try make(
            #"""
            curl 'https://me:hush1@api.example/v1?sig=hush2' -H 'Cookie: sid=hush3' -H 'Ocp-Apim-Subscription-Key: hush4' \
              -d '{"event":"A","auth":"hush5","list":[{"password":"hush6","n":1},{"x":[]}]}'
            """#)
        #expect(!text.contains("hush") && text.contains("description: events for api.example\n"), "\(text)")
        let secrets = ["user", "password", "sig", "cookie", "ocp_apim_subscription_key", "auth"]
        try configure("{ preset: own, \(secrets.map { "\($0): !secret secret" }.joined(separator: ", ")) }")
        let check = try Program.penstock(["check", "--config", configuration])
        #expect(check.status == 0, "\(check.errors)\n\(text)")
    }

    @Test(arguments: [
        ("curl https://h.example/e -d '{\"event\":\"A\",\"nested\":{\"ts\":1769846400.5}}'", "  format: single"),
        ("curl -X PUT h.example -d '[{\"name\":\"a\"}]'", "  method: PUT"),
        ("curl h.example -d 'event=A&user_id=u&x=1'", "  format: form"),
        ("curl h.example --data-raw 'cpu,host=a value=1'", "  format: text"),
        ("curl 'h.example/pixel?u=1'", "  method: GET"),
        ("curl -G h.example -d a=1", "  http: \"http://h.example?a=1\""),
        ("curl h.example -d '{\"a\":1}\n{\"a\":2}'", "  format: ndjson"),
    ])
    func `each form of request becomes a valid preset`(curl: String, line: String) throws {
        let text = try make(curl)
        #expect(text.split(separator: "\n").contains(Substring(line)), "\(text)")
        try configure("{ preset: own }")
        let check = try Program.penstock(["check", "--config", configuration])
        #expect(check.status == 0, "\(check.errors)\n\(text)")
    }

    @Test(arguments: [
        ("wget https://h/", "no curl command"), ("curl", "needs one URL, and has 0"), ("curl a b", "and has 2"),
        ("curl 'https://h/", "a quote is not closed"), ("curl h -d @file", "in the file file"),
        ("curl h -F a=b", "multipart"), ("curl h -X", "-X has no value"), ("", "no curl command"),
    ])
    func `what is no request is named`(text: String, words: String) throws {
        let result = try Program.penstock(["presets", "new", "--config", configuration, "own"], input: text)
        #expect(result.status == 1 && result.errors.contains(words), "\(result.errors)")
    }

    @Test func `one event of each kind is sent, and requests and answers are shown without secrets`() throws {
        let receiver = try HTTPReceiver([.status(202, body: "fine s3cret-value")])
        try configure(
            "{ http: \"\(receiver.url)\", format: single, headers: { X-Key: !secret secret }, batch: { wait: 1h } }")
        let result = try Program.penstock(["presets", "test", "--config", configuration, "out"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(receiver.server.requests.count == 6)
        #expect(receiver.server.requests.allSatisfy { $0.headers["x-key"] == "s3cret-value" })
        for kind in ["track", "identify", "page", "screen", "group", "alias"] {
            #expect(receiver.server.requests.contains { $0.text.contains("\"type\":\"\(kind)\"") })
        }
        #expect(result.output.contains("X-Key: <secret secret>") && result.output.contains("← HTTP 202  fine [hidden]"))
        #expect(result.output.split(separator: "\n").count { $0 == "    ✓ delivered" } == 6, "\(result.output)")
        #expect(!result.output.contains("s3cret-value"))
    }

    @Test func `an event that the service refuses fails the command`() throws {
        let receiver = try HTTPReceiver([.status(400, body: "no such field")])
        try configure("{ http: \"\(receiver.url)\", format: single }")
        let result = try Program.penstock(["presets", "test", "--kind", "track", "--config", configuration, "out"])
        #expect(result.status == 1 && receiver.server.requests.count == 1)
        #expect(result.output.contains("← HTTP 400  no such field"), "\(result.output)")
        #expect(result.output.contains("✗ would become a dead letter: HTTP 400"))
        let unknown = try Program.penstock(["presets", "test", "--config", configuration, "other"])
        #expect(unknown.status == 2 && unknown.errors.contains("no destination has this name"))
    }
}
