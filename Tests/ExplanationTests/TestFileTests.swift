import Platform
import DaemonConfiguration
import Explanation
import Testing

/// Test files as an operator writes them.
@Suite("Test files")
struct TestFileTests {
    private static let shop = """
        sources: { apps: { socket: /run/s }, web: { socket: /run/w, max_event_size: 100 } }
        routes:
          - { to: [archive] }
          - { where: event = "Order Completed", to: [collector, lines], transforms: [ set: { properties.by: penstock } ] }
          - { where: event = "Strange", to: [collector], transforms: [ set: { userId.x: 1 } ] }
        destinations:
          archive: { file: /var/archive/%H.ndjson }
          collector: { http: https://c.example/v1, format: array, method: PUT, headers: { X-Key: "k {{ secret.key }}" } }
          lines: { http: https://l.example/v1, format: ndjson, where: properties.total > 0 }
        """

    /// The report of a test file under that configuration.
    private func report(_ text: String) throws -> String {
        let read = TestFileResult.load(text: text, named: "tests/t.yaml")
        let problems = read.diagnostics.map(\.description).joined(separator: "\n")
        let file = try #require(read.file, "\(problems)")
        return TestText(ANSIStyle(isOn: false)).render(
            TestReport(file, under: try configuration(Self.shop, secrets: file.secrets)))
    }

    @Test func `every kind of expectation passes when it is met`() throws {
        let text = """
            now: 2026-01-31T08:00:00Z
            secrets: { key: s3 }
            tests:
              - name: an order
                event: { type: track, event: Order Completed, userId: ada, messageId: m1, properties: { total: 1.50 } }
                expect:
                  archive:
                    match: whole
                    event: { type: track, event: Order Completed, userId: ada, messageId: m1, properties: { total: 1.5 } }
                    file: /var/archive/08.ndjson
                  collector:
                    request:
                      method: PUT
                      url: https://c.example/v1
                      headers: { x-key: k s3, Content-Type: application/json, Content-Encoding: null }
                      body: [ { properties: { by: penstock } } ]
                    absent: [context, properties.none]
                  lines:
                    requests:
                      - body: '{"type":"track","event":"Order Completed","userId":"ada","messageId":"m1","properties":{"total":1.50,"by":"penstock"}}

                          '
              - { name: free, event: { type: track, event: Order Completed, userId: ada }, expect: { lines: { dropped_by: where } } }
              - { name: another, event: { type: page, userId: ada }, expect: { collector: { dropped_by: no_route }, lines: nothing } }
              - { name: only the archive, event: { type: page, userId: ada }, expect: { archive: { event: {} } }, others: nothing }
              - { name: bad, event: { type: track, event: Strange, userId: ada }, expect: { collector: { rejected: userId is not an object } } }
              - { name: of nobody, event: { type: page }, refused: no_user_anon_id }
              - { name: nonsense, event: "{nonsense", refused: invalid_json }
              - { name: large, source: web, event: { type: page, userId: ada, name: "\(String(repeating: "x", count: 100))" }, refused: too_large }
              - name: later
                now: 2026-01-31T21:00:00Z
                events: [ { type: page, userId: a, messageId: m1 }, { type: page, userId: b, messageId: m2 } ]
                expect: { archive: { events: [ { userId: a }, { userId: b } ], file: /var/archive/21.ndjson } }
            """
        #expect(
            try report(text) == """
                tests/t.yaml
                  ✓ an order
                  ✓ free
                  ✓ another
                  ✓ only the archive
                  ✓ bad
                  ✓ of nobody
                  ✓ nonsense
                  ✓ large
                  ✓ later

                """)
    }

    @Test func `a difference is shown field by field, and a missing event by its reason`() throws {
        let text = """
            tests:
              - name: values
                event: { type: track, event: Order Completed, userId: ada, messageId: m1, properties: { total: 20, a: 1 } }
                expect:
                  archive: { event: { properties: { total: 19.9, b: true } }, absent: [properties.a], file: /elsewhere }
                  collector:
                    match: whole
                    request: { method: POST, headers: { X-Key: k, Content-Type: null }, body: [ { type: track } ] }
              - name: nothing came
                event: { type: track, event: Order Completed, userId: ada, properties: { total: 0 } }
                expect: { lines: { event: {} } }
              - name: something came
                event: { type: track, event: Order Completed, userId: ada, messageId: m }
                expect: { archive: nothing }
                others: nothing
              - name: reasons
                event: { type: page, userId: ada }
                expect: { collector: { dropped_by: where }, archive: { rejected: x } }
              - { name: accepted, event: { type: page, userId: ada }, refused: too_large }
              - { name: refused, event: { type: page }, refused: too_large }
              - { name: refused unexpectedly, event: { type: page }, expect: { archive: { event: {} } } }
            """
        #expect(
            try report(text) == """
                tests/t.yaml
                  ✗ values  tests/t.yaml:2
                      archive: event 1 differs
                        - properties.total  19.9  expected
                        + properties.total  20    got
                        - properties.b      true  expected
                      archive: the file differs
                        - file  "/elsewhere"              expected
                        + file  "/var/archive/00.ndjson"  got
                      archive: event 1 has a field that must be absent
                        + properties.a  1  not expected
                      collector: request 1 differs
                        - method                   "POST"              expected
                        + method                   "PUT"               got
                        - headers.X-Key            "k"                 expected
                        + headers.X-Key            "k <secret key>"    got
                        + headers.Content-Type     "application/json"  not expected
                        + body.0.event             "Order Completed"   not expected
                        + body.0.userId            "ada"               not expected
                        + body.0.messageId         "m1"                not expected
                        + body.0.properties.total  20                  not expected
                        + body.0.properties.a      1                   not expected
                        + body.0.properties.by     "penstock"          not expected
                  ✗ nothing came  tests/t.yaml:9
                      lines: expected 1 event, but it gets none
                        ✗ lines · the destination's filter does not match (where)
                            where event = "Order Completed"
                            set
                                + properties.by  "penstock"
                            where properties.total > 0
                                false  properties.total > 0  properties.total is 0
                  ✗ something came  tests/t.yaml:12
                      archive: expected nothing, but it gets an event
                        ✓ archive · route 1
                            → /var/archive/00.ndjson
                              {"type":"track","event":"Order Completed","userId":"ada","messageId":"m"}
                            74 bytes of 1MiB, 1 of 10000 events a batch, at once
                      collector: expected nothing (others: nothing), but it gets an event
                        ✓ collector · route 2
                            where event = "Order Completed"
                            set
                                + properties.by  "penstock"
                            → PUT https://c.example/v1
                              User-Agent: penstock/0.1.0
                              X-Key: k <secret key>
                              Content-Type: application/json

                              [
                                {
                                  "type": "track",
                                  "event": "Order Completed",
                                  "userId": "ada",
                                  "messageId": "m",
                                  "properties": { "by": "penstock" }
                                }
                              ]
                            105 bytes of 1MiB, 1 of 500 events a batch, after 1s at the latest
                  ✗ reasons  tests/t.yaml:16
                      collector: expected to be dropped by where, but it is dropped by no_route
                        ✗ collector · no route selects the event (no_route)
                            route 2
                                false  event = "Order Completed"  event is missing
                            route 3
                                false  event = "Strange"  event is missing
                      archive: expected a dead letter, but it gets the event
                        ✓ archive · route 1
                            + messageId  "00000000-0000-8000-8000-000000000000"
                            → /var/archive/00.ndjson
                              {"type":"page","userId":"ada","messageId":"00000000-0000-8000-8000-000000000000"}
                            82 bytes of 1MiB, 1 of 10000 events a batch, at once
                  ✗ accepted  tests/t.yaml:19
                      event 1: expected to be refused (too_large), but it is accepted
                  ✗ refused  tests/t.yaml:20
                      event 1: expected to be refused for too_large, but it is refused for no_user_anon_id: expected userId or anonymousId, a string that is not empty
                  ✗ refused unexpectedly  tests/t.yaml:21
                      event 1 is refused: no_user_anon_id: expected userId or anonymousId, a string that is not empty

                """)
    }

    @Test func `all errors of a test file are reported at once, as those of a configuration are`() {
        let text = """
            now: yesterday
            test: []
            tests:
              - name: a
                evnt: { type: page }
                expect: { archive: nothin, b: { events: {}, evnets: 1, match: some } }
              - event: { type: page }
              - { event: {}, refused: too_big }
              - { event: {}, events: [], expect: { a: { event: {}, dropped_by: no_rute, absent: [a..b] } } }
              - { event: !secret x, refused: too_large, expect: { a: nothing } }
            """
        let found = TestFileResult.load(text: text, named: "t.yaml")
        #expect(found.file == nil)
        #expect(
            found.diagnostics.map(\.description).joined(separator: "\n") == """
                t.yaml:1:6: error: "yesterday" is not a time
                now: yesterday
                     ^~~~~~~~~
                hint: a time is written 2026-01-31T08:00:00Z
                t.yaml:2:1: error: unknown key "test" in a test file
                test: []
                ^~~~
                hint: did you mean "tests"?
                t.yaml:4:5: error: test "a" has no event
                  - name: a
                    ^
                hint: add event: { type: track, … }
                t.yaml:5:5: error: unknown key "evnt" in test "a"
                    evnt: { type: page }
                    ^~~~
                hint: did you mean "event"?
                t.yaml:6:24: error: "archive" must be nothing, or a map
                    expect: { archive: nothin, b: { events: {}, evnets: 1, match: some } }
                                       ^~~~~~
                hint: write nothing, or { event: { … } }
                t.yaml:6:45: error: "events" must be a list of events, not an empty map
                    expect: { archive: nothin, b: { events: {}, evnets: 1, match: some } }
                                                            ^
                t.yaml:6:49: error: unknown key "evnets" in the expectation for "b"
                    expect: { archive: nothin, b: { events: {}, evnets: 1, match: some } }
                                                                ^~~~~~
                hint: did you mean "events"?
                t.yaml:6:67: error: "match" must be one of subset, whole
                    expect: { archive: nothin, b: { events: {}, evnets: 1, match: some } }
                                                                                  ^~~~
                t.yaml:7:5: error: test "test 2" expects nothing
                  - event: { type: page }
                    ^
                hint: add expect: { DESTINATION: … }, or refused: REASON
                t.yaml:8:27: error: "refused" must be one of invalid_json, invalid_utf8, too_large, too_deep, not_an_object, no_user_anon_id, id_not_string, unknown_type, event_not_defined, event_not_string, group_id_not_defined, properties_not_object, traits_not_object, context_not_object, name_not_string, invalid_timestamp, empty_batch, rate_limited, not_allowed, journal_full, unplanned, schema_violation, invalid_request, unknown_write_key, max_connections_per_uid, max_consecutive_refusals, max_buffered, line_timeout, idle_timeout
                  - { event: {}, refused: too_big }
                                          ^~~~~~~
                t.yaml:9:18: error: event and events cannot be combined
                  - { event: {}, events: [], expect: { a: { event: {}, dropped_by: no_rute, absent: [a..b] } } }
                                 ^~~~~~
                hint: write all of them below events
                t.yaml:9:56: error: event and dropped_by cannot be combined
                  - { event: {}, events: [], expect: { a: { event: {}, dropped_by: no_rute, absent: [a..b] } } }
                                                                       ^~~~~~~~~~
                hint: expect either events or a reason why there are none
                t.yaml:9:68: error: "dropped_by" must be one of no_route, integrations, where, mapping, keep, drop, rename, set, copy, move, to_string, to_number, hash, mask, redact, sample, throttle, dedupe, name_case, rename_events, flatten, enrich, timed, session, unnest, reject, lua
                  - { event: {}, events: [], expect: { a: { event: {}, dropped_by: no_rute, absent: [a..b] } } }
                                                                                   ^~~~~~~
                hint: did you mean "no_route"?
                t.yaml:9:88: error: expected a field name, not .
                …vent: {}, events: [], expect: { a: { event: {}, dropped_by: no_rute, absent: [a..b] } } }
                                                                                                 ^
                hint: a dot separates two names; write \\. for a dot inside a name
                t.yaml:10:14: error: a secret is not allowed here
                  - { event: !secret x, refused: too_large, expect: { a: nothing } }
                             ^~~~~~~~~
                hint: secrets are allowed in URLs, in header values, in mappings and in a plugin's settings
                t.yaml:10:25: error: refused and expect cannot be combined
                  - { event: !secret x, refused: too_large, expect: { a: nothing } }
                                        ^~~~~~~
                hint: a refused event reaches no destination
                """)
    }

    @Test(arguments: [
        ("batch: { events: 2 }", 3, [2, 1]), ("batch: { events: 500 }", 3, [3]),
        ("batch: { bytes: 1KiB }", 20, [16, 4]),
        ("rate_limit: { events_per_second: 4, burst: 2 }", 5, [2, 2, 1]),
        ("batch: { events: 3 }, limits: [ { path: event, not: [E10, E11] } ]", 6, [1, 3]),
        ("batch: { events: 3 }, transforms: [ { lua: \"return { event, event }\" } ]", 3, [2, 2, 2]),
    ])
    func `requests are split as in delivery`(_ keys: String, _ count: Int, _ requests: [Int]) throws {
        let yaml =
            "{ routes: [ { to: [c] } ], destinations: { c: { http: https://c.example/v1, format: array, \(keys) } } }"
        // Each event has 62 bytes, including a line feed.
        let events = (10..<10 + count).map { "{ type: track, event: E\($0), userId: u, messageId: m\($0) }" }
        let bodies = requests.map { "{ body: [ \(Array(repeating: "{}", count: $0).joined(separator: ", ")) ] }" }
        let text = """
            tests:
              - events: [ \(events.joined(separator: ", ")) ]
                expect: { c: { requests: [ \(bodies.joined(separator: ", ")) ] } }
            """
        let file = try #require(TestFileResult.load(text: text, named: "t.yaml").file)
        let outcome = try #require(TestReport(file, under: try configuration(yaml)).outcomes.first)
        #expect(outcome.failures.map(\.summary) == [])
    }

    @Test func `unknown names are reported at their places`() throws {
        let text = """
            tests:
              - source: webb
                event: {}
                expect: { archiv: nothing, lines: { file: /x }, archive: { request: {} } }
            """
        let file = try #require(TestFileResult.load(text: text, named: "t.yaml").file)
        #expect(
            file.problems(in: try configuration(Self.shop)).map(\.description).joined(separator: "\n") == """
                t.yaml:2:13: error: there is no source "webb" in the configuration
                  - source: webb
                            ^~~~
                hint: did you mean "web"?
                t.yaml:4:15: error: there is no destination "archiv" in the configuration
                    expect: { archiv: nothing, lines: { file: /x }, archive: { request: {} } }
                              ^~~~~~
                hint: did you mean "archive"?
                t.yaml:4:32: error: "lines" writes no file
                    expect: { archiv: nothing, lines: { file: /x }, archive: { request: {} } }
                                               ^~~~~
                hint: remove file:
                t.yaml:4:53: error: "archive" sends no requests
                    expect: { archiv: nothing, lines: { file: /x }, archive: { request: {} } }
                                                                    ^~~~~~~
                hint: only an HTTP destination does; expect event: or events:
                """)
    }

    @Test func `unknown names are reported together with the file's own errors, ordered by place`() throws {
        let text = """
            tests:
              - { event: {}, expect: { archiv: nothing }, sorce: web }
              - { event: {}, expect: { lines: nothin }, source: webb }
            """
        let read = TestFileResult.load(text: text, named: "t.yaml")
        #expect(read.file == nil)
        #expect(
            read.diagnostics(in: try configuration(Self.shop)).map {
                "\($0.place.line):\($0.place.column) \($0.message)"
            } == [
                #"2:28 there is no destination "archiv" in the configuration"#,
                #"2:47 unknown key "sorce" in test "test 1""#,
                #"3:35 "lines" must be nothing, or a map"#, #"3:53 there is no source "webb" in the configuration"#,
            ])
    }

    @Test(arguments: [
        ("tests: []", "1:8", "there is no test in \"tests\""), ("tests:", "1:1", "there is no test in \"tests\""),
        ("tests: [ { event: {}, expect: {} } ]", "1:31", "test \"test 1\" expects nothing"),
        ("tests: [ { event: {}, expect: , others: anything } ]", "1:23", "test \"test 1\" expects nothing"),
        ("tests: [ { event: {}, others: anything } ]", "1:10", "test \"test 1\" expects nothing"),
        ("tests: [ { events: [], refused: too_large } ]", "1:20", "test \"test 1\" has no event"),
        ("tests: [ { events: [], expect: { a: nothing } } ]", "1:20", "test \"test 1\" has no event"),
    ])
    func `a test that checks nothing is an error, not a pass`(_ text: String, _ place: String, _ message: String) {
        let read = TestFileResult.load(text: text, named: "t.yaml")
        #expect(read.file == nil)
        #expect(read.diagnostics.map { "\($0.place.line):\($0.place.column) \($0.message)" } == ["\(place) \(message)"])
    }

    @Test func `the JUnit report escapes failures and special characters`() throws {
        let text = """
            tests:
              - { name: "a <b> & \\"c\\"", event: { type: page, userId: u }, expect: { archive: nothing } }
              - { name: fine, event: { type: page, userId: u }, expect: { archive: { event: {} } } }
            """
        let file = try #require(TestFileResult.load(text: text, named: "t.yaml").file)
        var report = TestReport(file, under: try configuration(Self.shop))
        for index in report.outcomes.indices { report.outcomes[index].duration = 0.0123 }
        let xml = JUnitReport.render([report])
        #expect(
            xml.hasPrefix(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <testsuites name="penstock" tests="2" failures="1">
                  <testsuite name="t.yaml" tests="2" failures="1" errors="0" time="0.025">
                    <testcase name="a &lt;b&gt; &amp; &quot;c&quot;" classname="t.yaml" file="t.yaml" line="2" time="0.012">
                      <failure message="archive: expected nothing, but it gets an event">✓ archive · route 1&#10;
                """), "\(xml)")
        #expect(
            xml.hasSuffix(
                """
                </failure>
                    </testcase>
                    <testcase name="fine" classname="t.yaml" file="t.yaml" line="3" time="0.012"/>
                  </testsuite>
                </testsuites>

                """), "\(xml)")
    }

    @Test(arguments: ["penstock.yaml", "examples/quickstart.yaml"])
    func `the tests of the shipped examples pass`(_ name: String) throws {
        let directory = Repository.root + "/etc/penstock/"
        let tests = (name == "penstock.yaml" ? "tests/archive" : "examples/tests/quickstart") + ".yaml"
        let file = try #require(TestFileResult.load(directory + tests).file)
        let loaded = ConfigurationLoader.withStandIns(file.secrets, pluginDirectories: []).load(file: directory + name)
        let configuration = try #require(loaded.configuration)
        #expect(file.problems(in: configuration).isEmpty)
        let report = TestReport(file, under: configuration)
        #expect(!report.outcomes.isEmpty && report.failed == 0, "\(TestText(ANSIStyle(isOn: false)).render(report))")
    }
}
