import Platform
import DaemonConfiguration
import Explanation
import TestSupport
import Testing

/// The text that an operator sees after asking about an event.
@Suite("Explanations")
struct ExplanationTests {
    private static let shop = """
        sources: { apps: { socket: /run/s } }
        routes:
          - { name: everything, to: [archive] }
          - name: orders
            where: type = "track" and event in ["Order Completed", "Order Refunded"]
            transforms:
              - set: { context.routed_by: penstock }
              - set: { properties.vip: true }
                where: properties.total > 100
            to: [collector]
          - name: people
            where: type = "identify" or length(properties.products) >= 2
            to: [crm]
        destinations:
          archive: { file: /var/archive/%Y-%m-%d.ndjson }
          collector:
            http: https://collector.example/v1/events
            format: single
            headers: { Authorization: "Bearer {{ secret.collector }}" }
            compression: gzip
            where: "!match(userId, 'test-*')"
            mapping: { name: $.event, who: "{{ userId }}", token: !secret token }
          crm: { plugin: crm, settings: { key: !secret crm_key } }
        """

    @Test func `each destination is shown with its route and changes, or with its false conditions`() throws {
        let event =
            #"{"type":"track","event":"Order Completed","messageId":"m1","userId":"ada","properties":{"total":19.90,"products":[1]}}"#
        #expect(
            explanationText(event, try configuration(Self.shop)) == """
                track "Order Completed" of user ada · 118 bytes · received 2026-01-31T08:00:00.000Z · source apps

                ✓ archive · route everything
                    → /var/archive/2026-01-31.ndjson
                      {"type":"track","event":"Order Completed","messageId":"m1","userId":"ada","properties":{"total":19.90,"products":[1]}}
                    119 bytes of 1MiB, 1 of 10000 events a batch, at once

                ✓ collector · route orders
                    where type = "track" and event in ["Order Completed", "Order Refunded"]
                    set
                        + context.routed_by  "penstock"
                    set is skipped: where properties.total > 100
                        false  properties.total > 100  properties.total is 19.90
                    mapping
                        { "name": "Order Completed", "who": "ada", "token": "<secret token>" }
                    → POST https://collector.example/v1/events
                      User-Agent: penstock/0.1.0
                      Authorization: Bearer <secret collector>
                      Content-Type: application/json
                      Content-Encoding: gzip

                      { "name": "Order Completed", "who": "ada", "token": "<secret token>" }
                    64 bytes of 1MiB, 1 of 500 events a batch, after 1s at the latest

                ✗ crm · no route selects the event (no_route)
                    route people
                        false  type = "identify"                 type is "track"
                        false  length(properties.products) >= 2  properties.products is [1], length(properties.products) is 1

                """)
    }

    @Test func `a plugin's output is shown as its settings, with secret names, and the row`() throws {
        let event = #"{"type":"identify","userId":"ada"}"#
        #expect(
            explanationText(event, try configuration(Self.shop), only: ["crm"]) == """
                identify of user ada · 34 bytes · received 2026-01-31T08:00:00.000Z · source apps

                ✓ crm · route people
                    where type = "identify" or length(properties.products) >= 2
                    + messageId  "00000000-0000-8000-8000-000000000007"
                    → plugin crm {"key":<secret crm_key>}
                      position 7, identify, message id 00000000-0000-8000-8000-000000000007
                      {"type":"identify","userId":"ada","messageId":"00000000-0000-8000-8000-000000000007"}
                    86 bytes of 1MiB, 1 of 512 events a batch, after 200ms at the latest

                """)
    }

    @Test func `a negation that excluded an event is explained by the condition that is true`() throws {
        let event = #"{"type":"track","event":"Order Completed","userId":"test-7"}"#
        let text = explanationText(event, try configuration(Self.shop), only: ["collector"])
        #expect(text.contains("✗ collector · the destination's filter does not match (where)\n"), "\(text)")
        #expect(text.contains("    where !match(userId, \"test-*\")\n"), "\(text)")
        #expect(text.contains("        true  match(userId, \"test-*\")  userId is \"test-7\"\n"), "\(text)")
    }

    @Test func `an event can exclude a destination`() throws {
        let event = #"{"type":"track","event":"x","userId":"u","integrations":{"archive":false}}"#
        let text = explanationText(event, try configuration(Self.shop), only: ["archive"])
        #expect(
            text.contains(
                "✗ archive · excluded by the event's integrations (integrations)\n    integrations.archive is false\n"),
            "\(text)")
    }

    @Test(arguments: [("Mixpanel", "integrations.Mixpanel"), ("All", "integrations.All")])
    func `an event can name a destination by its preset`(_ key: String, _ path: String) throws {
        let configuration = try configuration(
            """
            routes: [ { to: [product], transforms: [ set: { x: 1 } ] } ]
            destinations: { product: { preset: mixpanel, token: !secret t } }
            """)
        let event =
            #"{"type":"track","event":"x","userId":"u","integrations":{"Another One":true,"And a Third":false,"\#(key)":false}}"#
        let text = explanationText(event, configuration)
        #expect(
            text.hasSuffix("✗ product · excluded by the event's integrations (integrations)\n    \(path) is false\n"),
            "\(text)")
        let json = EventExplainer(configuration).explain(Array(event.utf8), position: 0, receivedAt: morning).json.text
        #expect(json.contains(#""integration":"\#(key)","steps":[]"#), "\(json)")
    }

    @Test func `an event that ingest would refuse is explained by its reason`() throws {
        #expect(
            explanationText(#"{"type":"track","event":"x"}"#, try configuration(Self.shop)) == """
                track "x" · 28 bytes · received 2026-01-31T08:00:00.000Z · source apps
                ✗ refused: no_user_anon_id
                    expected userId or anonymousId, a string that is not empty

                """)
        #expect(explanationText("nonsense", try configuration(Self.shop)).contains("✗ refused: invalid_json\n"))
        #expect(explanationText("  ", try configuration(Self.shop)).contains("there is no event here"))
    }

    @Test func `a failed transform or an oversized mapping is shown as a dead letter`() throws {
        let configuration = try configuration(
            """
            routes: [ { to: [a, b], transforms: [ set: { properties.a.b: 1 } ] } ]
            destinations:
              a: { file: /d/a }
              b: { file: /d/b, max_event_size: 1KiB, transforms: [ set: { properties.a: {} } ], mapping: { x: $.properties.long } }
            """)
        let text = explanationText(
            #"{"type":"track","event":"x","userId":"u","properties":{"a":"text"}}"#, configuration, only: ["a"])
        #expect(text.contains("! a · to the dead letters: set: properties.a is not an object"), "\(text)")
        #expect(text.contains("    set fails: set: properties.a is not an object"), "\(text)")
        let long =
            #"{"type":"track","event":"x","userId":"u","properties":{"a":{},"long":"\#(String(repeating: "x", count: 2_000))"}}"#
        #expect(explanationText(long, configuration, only: ["b"]).contains("! b · to the dead letters: mapping: "))
    }

    @Test func `an event that is larger than a batch is shown as sent alone`() throws {
        let configuration = try configuration(
            """
            routes: [ { to: [a] } ]
            destinations: { a: { file: /d/a, batch: { bytes: 1KiB } } }
            """)
        let event = #"{"type":"track","event":"x","messageId":"m","userId":"\#(String(repeating: "u", count: 2_000))"}"#
        #expect(
            explanationText(event, configuration).contains("exceed batch.bytes (1KiB): sent in a separate batch\n"))
    }

    @Test func `colours mark additions, and an event's control characters do not reach the terminal`() throws {
        let explainer = EventExplainer(try configuration(Self.shop))
        let event = Array(#"{"type":"track","event":"a\u001bb","userId":"u\#u{1B}[31m"}"#.utf8)
        let text = ExplanationText(ANSIStyle(isOn: true)).render(
            explainer.explain(event, position: 0, receivedAt: morning))
        #expect(text.contains("\u{1B}[32m✓ \u{1B}[0m\u{1B}[1marchive\u{1B}[0m") || text.contains("refused"), "\(text)")
        let plain = ExplanationText(ANSIStyle(isOn: false)).render(
            explainer.explain(event, position: 0, receivedAt: morning))
        #expect(!plain.contains("\u{1B}"))
    }

    @Test func `a step that depends on earlier events is marked where these are unknown`() throws {
        let configuration = try configuration(
            """
            pipeline: [ { throttle: { events: 1, every: 1h } } ]
            routes: [ { to: [a] } ]
            destinations: { a: { file: /d/a, transforms: [ { dedupe: messageId }, { dedupe: { by: userId, within: 1m }, where: type = "page" } ] } }
            """)
        let event = Array(#"{"type":"track","event":"x","userId":"u","messageId":"m"}"#.utf8)
        func explanationText(_ earlier: EarlierEvents) -> String {
            ExplanationText(ANSIStyle(isOn: false)).render(
                EventExplainer(configuration, earlier: earlier).explain(event, position: 0, receivedAt: morning))
        }
        #expect(
            explanationText(.unknown).contains(
                """
                    throttle in the pipeline passes the event, but depends on earlier events, which are not known
                    dedupe passes the event, but depends on earlier events, which are not known
                    dedupe is skipped: where type = "page"

                """), "\(explanationText(.unknown))")
        #expect(!explanationText(.none).contains("not known"))
    }

    @Test func `the JSON holds the event unchanged and the same explanation`() throws {
        let explainer = EventExplainer(try configuration(Self.shop))
        let event =
            #"{"type":"track","event":"Order Completed","messageId":"m1","userId":"ada","properties":{"total":1e400}}"#
        let json = explainer.explain(Array(event.utf8), position: 7, receivedAt: morning).json
        #expect(json.text.contains(#""event":\#(event),"bytes":103"#), "\(json.text)")
        #expect(json.text.contains(#""archive":{"verdict":"routed","route":"everything""#))
        #expect(json.text.contains(#""crm":{"verdict":"filtered","reason":"no_route""#))
        #expect(json.text.contains(#""seen":{"properties.products":{"missing":true},"length(properties.products)":0}"#))
        #expect(json.text.contains(#""requests":[{"method":"POST","url":"https://collector.example/v1/events""#))
        #expect(JSONTree(json.text) == json)
    }

    @Test func `a mapping is shown only where there is one, also if event values are part of the request`() throws {
        let configuration = try configuration(
            """
            routes: [ { to: [plain, several] } ]
            destinations:
              plain: { http: "https://a.example/{{ event }}", format: single }
              several:
                http: https://a.example/
                format: single
                requests: [ { where: type = "track" }, { mapping: { t: $.type } } ]
            """)
        let text = explanationText(#"{"type":"track","event":"x","userId":"u"}"#, configuration)
        let added = "    + messageId  \"00000000-0000-8000-8000-000000000007\"\n    → POST https://a.example/"
        #expect(
            text.contains("✓ plain · route 1\n\(added)x\n") && text.contains("✓ several · route 1\n\(added)\n"),
            "\(text)")
        let page = explanationText(#"{"type":"page","userId":"u","messageId":"m"}"#, configuration, only: ["several"])
        #expect(page.contains("✓ several · route 1\n    mapping\n        { \"t\": \"page\" }\n"), "\(page)")
    }

    @Test func `CSV rows are text in the JSON, and each step names its owner`() throws {
        let configuration = try configuration(
            """
            pipeline: [ set: { a: 1 } ]
            routes: [ { to: [a], transforms: [ set: { b: 1 } ] } ]
            destinations:
              a:
                file: /d/a.csv
                format: csv
                columns: { total: $.properties.total }
                where: type = "track"
                transforms: [ set: { c: 1 } ]
            """)
        let event = Array(#"{"type":"track","event":"x","userId":"u","properties":{"total":20}}"#.utf8)
        let json = EventExplainer(configuration).explain(event, position: 0, receivedAt: 0).json.text
        #expect(json.contains(#""lines":["total","20"]"#), "\(json)")
        #expect(
            json.matches(of: /"step":"(\w+)","of":"(\w+)"/).map { "\($0.1) \($0.2)" }
                == ["set pipeline", "set route", "where destination", "set destination"], "\(json)")
    }

    @Test func `credentials in a URL are shown as the header that is sent`() throws {
        func sent(_ http: String, _ secrets: [String: String] = [:]) throws -> String {
            let yaml = "{ routes: [ { to: [a] } ], destinations: { a: { \(http) } } }"
            return explanationText(
                #"{"type":"track","event":"x","userId":"u"}"#, try configuration(yaml, secrets: secrets))
        }
        let hidden = try sent("preset: segment, write_key: !secret key")
        #expect(
            hidden.contains(
                "→ POST https://api.segment.io/v1/batch\n      Authorization: Basic base64(<secret key>:)\n      User-Agent: "
            ), "\(hidden)")
        let known = try sent("preset: segment, write_key: !secret key", ["key": "k€y:/@"])
        #expect(known.contains("      Authorization: Basic a+KCrHk6L0A6\n"), "\(known)")
        let both = try sent("http: \"http://ada:p%20w@a.example/a@b?c=@\"")
        #expect(both.contains("→ POST http://a.example/a@b?c=@\n      Authorization: Basic YWRhOnAgdw==\n"), "\(both)")
        let configured = try sent("http: \"http://ada@a.example/\", headers: { authorization: Bearer x }")
        #expect(configured.contains("authorization: Bearer x\n") && !configured.contains("Basic"), "\(configured)")
    }

    @Test func `no value of a secret is read, whatever is printed`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("token", "s3cr3t")
        let yaml = """
            routes: [ { to: [a] } ]
            destinations: { a: { http: "https://a.example/", headers: { X: !secret token }, mapping: { t: !secret token } } }
            secrets: { directory: \(directory.path) }
            """
        let event = #"{"type":"track","event":"x","userId":"u"}"#
        let explainer = EventExplainer(try configuration(yaml))
        let explanation = explainer.explain(Array(event.utf8), position: 0, receivedAt: 0)
        for text in [
            ExplanationText(ANSIStyle(isOn: false)).render(explanation), explanation.json.text, "\(explanation)",
        ] {
            #expect(text.contains("<secret token>"))
            #expect(!text.contains("s3cr3t"))
        }
    }
}
