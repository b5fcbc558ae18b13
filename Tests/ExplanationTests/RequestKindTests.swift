import DaemonConfiguration
import Explanation
import Testing

/// Several kinds of request, methods without a body, and bodies that are not JSON, as they would be sent.
@Suite struct RequestKindTests {
    /// The differences between what is sent and the expectation.
    private func failures(_ destination: String, _ events: String, _ expected: String) throws -> [String] {
        let file = try #require(
            TestFileResult.load(
                text: "now: 2026-01-31T08:00:00Z\ntests: [ { events: [ \(events) ], expect: { c: \(expected) } } ]",
                named: "t.yaml"
            ).file)
        let configuration = try configuration("{ routes: [ { to: [c] } ], destinations: { c: { \(destination) } } }")
        return try #require(TestReport(file, under: configuration).outcomes.first).failures.map(\.summary)
    }

    private static let kinds = """
        http: https://c.example/e, requests: [
          { where: type = "identify", http: https://c.example/people, mapping: { id: $.userId } },
          { where: traits.team != null, also: true, http: https://c.example/teams, mapping: { team: $.traits.team } },
          { mapping: { type: $.type, id: $.messageId } } ]
        """

    @Test(arguments: [
        (
            "{ type: identify, userId: ada, messageId: m1, traits: { team: x } }",
            #"{ requests: [ { url: "https://c.example/people", body: [ { id: ada } ] }, { url: "https://c.example/teams", body: [ { team: x } ] } ] }"#
        ),
        (
            "{ type: identify, userId: ada, messageId: m1 }",
            #"{ requests: [ { url: "https://c.example/people", body: [ { id: ada } ] } ] }"#
        ),
        (
            "{ type: group, userId: ada, groupId: g, messageId: m1, traits: { team: x } }",
            #"{ requests: [ { url: "https://c.example/teams", body: [ { team: x } ] }, { url: "https://c.example/e", body: [ { type: group, id: m1 } ] } ] }"#
        ),
    ])
    func `a kind with also is sent in addition to the first other one`(event: String, expected: String) throws {
        #expect(try failures(Self.kinds, event, expected) == [])
    }

    @Test func `a kind behind one that takes every event is reported, but not if it is additional`() {
        let all = """
            sources: { a: { socket: /s } }
            routes: [ { to: [c] } ]
            destinations: { c: { http: "http://h/", requests: [ {},
            """
        func problems(_ kind: String) -> [String] {
            ConfigurationLoader(pluginDirectories: []).load(text: all + " " + kind + " ] } }", named: "p.yaml")
                .diagnostics
                .map(\.message)
        }
        #expect(problems("{ where: 'true' }").contains { $0.contains("no event reaches request 2") })
        #expect(problems("{ also: true }") == [])
    }

    @Test func `texts are lines, forms have fields, XML documents elements, and without a body all is in the URL`()
        throws
    {
        let event = "{ type: track, event: A, userId: ada, messageId: m1, properties: { n: 1.50 } }"
        #expect(
            try failures(
                #"http: https://c.example/write, format: text, mapping: "events,user={{ userId }} n={{ properties.n }}""#,
                "\(event), \(event)",
                #"{ request: { headers: { Content-Type: "text/plain; charset=utf-8" }, body: "events,user=ada n=1.50\nevents,user=ada n=1.50\n" } }"#
            ) == [])
        #expect(
            try failures(
                "http: https://c.example/form, format: form, mapping: { user: $.userId, n: $.properties.n, none: $.x }",
                event, #"{ request: { body: "user=ada&n=1.50" } }"#) == [])
        #expect(
            try failures(
                #"http: https://c.example/xml, format: xml, mapping: { order: { "@id": $.userId, n: $.properties.n } }"#,
                event,
                #"{ request: { body: '<?xml version="1.0" encoding="UTF-8"?><order id="ada"><n>1.50</n></order>' } }"#)
                == [])
        #expect(
            try failures(
                #"http: "https://c.example/pixel?u={{ userId }}", method: GET, format: single"#, event,
                #"{ request: { method: GET, url: "https://c.example/pixel?u=ada", body: "" } }"#) == [])
    }

    @Test func `values of the batch are in the URL`() throws {
        let event = "{ type: track, event: A, userId: ada, messageId: m1 }"
        #expect(
            try failures(
                #"http: "https://c.example/{{ batch.date }}/{{ batch.hour }}/{{ batch.count }}", format: ndjson, mapping: $.event"#,
                "\(event), \(event)",
                #"{ request: { url: "https://c.example/2026-01-31/08/2", body: [ A, A ] } }"#) == [])
    }
}
