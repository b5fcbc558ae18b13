import DaemonConfiguration
import Explanation
import Testing

/// How events are explained that a transform split into several.
@Suite("Split events")
struct SplitEventTests {
    private static let products = """
        transforms:
              - lua: |
                  local made = {}
                  for number, product in ipairs(event.properties.products) do
                    made[number] = { type = "track", event = "P", userId = event.userId, messageId = "m" .. number, properties = product }
                  end
                  return made
        """
    private static let shop = """
        routes: [ { to: [limited, addressed, filed, rows] } ]
        destinations:
          limited:
            http: https://a.example/limited
            format: single
            limits: [ { path: properties, max_members: 2 } ]
            \(products)
          addressed:
            http: "https://a.example/{{ properties.sku }}"
            format: ndjson
            \(products)
          filed:
            file: "/d/{{ properties.sku }}.ndjson"
            \(products)
          rows:
            file: "/d/{{ sku }}.csv"
            format: csv
            columns: { sku: $.properties.sku, name: $.properties.name }
            \(products)
        """

    private func event(_ products: String) -> String {
        #"{"type":"track","event":"O","userId":"u","messageId":"m","properties":{"products":[\#(products)]}}"#
    }

    @Test func `a part that breaks a limit of the service is shown as a dead letter, and the others as sent`() throws {
        let event = event(#"{"sku":"a","x":1,"y":2},{"sku":"b"}"#)
        let text = explanationText(event, try configuration(Self.shop), only: ["limited"])
        #expect(
            text.hasSuffix(
                """

                ✓ limited · route 1 · 1 of 2 events to the dead letters
                    lua returns 2 events
                        { "event": "P", "messageId": "m1", "properties": { "sku": "a", "x": 1, "y": 2 }, "type": "track", "userId": "u" }
                        { "event": "P", "messageId": "m2", "properties": { "sku": "b" }, "type": "track", "userId": "u" }
                    → POST https://a.example/limited
                      User-Agent: penstock/0.1.0
                      Content-Type: application/json

                      {
                        "event": "P",
                        "messageId": "m2",
                        "properties": { "sku": "b" },
                        "type": "track",
                        "userId": "u"
                      }
                    180 bytes of 1MiB, 2 of 500 events a batch, after 1s at the latest
                    ! to the dead letters: not sent: properties has 3 members; at most 2 are allowed
                      {"event":"P","messageId":"m1","properties":{"sku":"a","x":1,"y":2},"type":"track","userId":"u"}

                """), "\(text)")
    }

    @Test func `a part without a value for the URL is a dead letter, and the others are sent`() throws {
        let text = explanationText(event(#"{"n":1},{"sku":"b"}"#), try configuration(Self.shop), only: ["addressed"])
        #expect(text.contains("✓ addressed · route 1 · 1 of 2 events to the dead letters\n"), "\(text)")
        #expect(text.contains("→ POST https://a.example/b\n"))
        #expect(
            text.contains("! to the dead letters: not sent: the event has no value for its place in the URL's path\n"))
        let none = explanationText(event(#"{"n":1},{"n":2}"#), try configuration(Self.shop), only: ["addressed"])
        #expect(
            none.contains("! addressed · to the dead letters: not sent: the event has no value for its place"),
            "\(none)")
        #expect(!none.contains("→ POST"))
    }

    @Test func `the JSON shows the sent parts and the dead letters`() throws {
        let explainer = EventExplainer(try configuration(Self.shop), only: ["limited", "filed"])
        let json = explainer.explain(
            Array(event(#"{"sku":"a","x":1,"y":2},{"sku":"b"}"#).utf8), position: 7, receivedAt: morning
        ).json.text
        #expect(json.contains(#""dead_letters":[{"event":{"event":"P","messageId":"m1","#), "\(json)")
        #expect(json.contains(#""output":[{"event":"P","messageId":"m2""#))
        #expect(
            json.contains(#"{"files":[{"file":"/d/a.ndjson","lines":[{"#)
                && json.contains(#"{"file":"/d/b.ndjson","lines":[{"#))
        #expect(json.contains(#""events":2,"batch_bytes""#))
    }

    @Test func `each part is shown with the file that its values name`() throws {
        let products = #"{"sku":"a","name":"1\n2"},{"sku":"b"},{"sku":"a"}"#
        let text = explanationText(event(products), try configuration(Self.shop), only: ["filed", "rows"])
        #expect(
            text.contains(
                """
                    → /d/a.ndjson
                      {"event":"P","messageId":"m1","properties":{"sku":"a","name":"1\\n2"},"type":"track","userId":"u"}
                      {"event":"P","messageId":"m3","properties":{"sku":"a"},"type":"track","userId":"u"}
                    → /d/b.ndjson
                      {"event":"P","messageId":"m2","properties":{"sku":"b"},"type":"track","userId":"u"}

                """), "\(text)")
        #expect(
            text.contains(
                """
                    → /d/a.csv
                      sku,name
                      a,"1\\n2"
                      a,
                    → /d/b.csv
                      sku,name
                      b,

                """), "\(text)")
    }

    @Test func `parts that exceed a batch are shown as sent in a separate batch`() throws {
        let small = Self.shop.replacing("format: single", with: "format: single\n    batch: { events: 1 }")
        let text = explanationText(event(#"{"sku":"a"},{"sku":"b"}"#), try configuration(small), only: ["limited"])
        #expect(
            text.contains("2 events exceed batch.events (1): they are sent together in a separate batch\n"),
            "\(text)")
    }

    @Test func `a test can expect an outcome for each part`() throws {
        let event = event(#"{"sku":"a"},{"sku":"b","x":1,"y":2}"#)
        let text = """
            tests:
              - name: holds
                event: '\(event)'
                expect:
                  limited: { request: { body: { properties: { sku: a } } }, rejected: at most 2 are allowed }
                  filed: { files: [ /d/a.ndjson, /d/b.ndjson ] }
              - name: does not
                event: '\(event)'
                expect:
                  limited: { rejected: at most 2 are allowed }
                  filed: { file: /d/a.ndjson }
                  addressed: { events: [ {}, {} ], rejected: x }
            """
        let file = try #require(TestFileResult.load(text: text, named: "t.yaml").file)
        let outcomes = TestReport(file, under: try configuration(Self.shop)).outcomes
        #expect(
            outcomes.map { $0.failures.map(\.summary) } == [
                [],
                [
                    "limited: expected a dead letter, but it gets some of the events that the transforms returned",
                    "filed: the file differs",
                    "addressed: expected a dead letter, but there is none",
                ],
            ])
        #expect(
            outcomes.last?.failures[1].changes.map { "\($0.path) \($0.before?.text ?? "-") \($0.after?.text ?? "-")" }
                == [#"file - "/d/b.ndjson""#])
    }
}
