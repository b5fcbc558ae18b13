import Delivery
import Events
import Testing

@testable import Destinations

/// The parts of a request that depend on its events: the URL, the headers, the grouping of events into requests, and
/// the events that are not sent.
@Suite struct RequestPlanTests {
    /// A batch of events, each with the envelope that the router would write before it.
    private func batch(_ events: [(envelope: String, json: String)]) -> OutboundBatch {
        var batch = OutboundBatch()
        for (position, event) in events.enumerated() {
            let envelope = Array(event.envelope.utf8) + (event.envelope.isEmpty ? [] : [0])
            batch.payload += envelope
            let start = batch.payload.count
            batch.payload += Array(event.json.utf8)
            var outbound = OutboundEvent(
                position: UInt64(position), receivedAt: 0, kind: .track, payload: start..<batch.payload.count,
                messageID: start..<start)
            outbound.envelope = envelope.count
            batch.events.append(outbound)
            batch.payload.append(UInt8(ascii: "\n"))
        }
        return batch
    }

    private func options(_ url: String, _ change: (inout HTTPOptions) -> Void = { _ in }) -> HTTPOptions {
        var options = HTTPOptions(url: url.replacing("{}", with: "\u{0}"), version: "0")
        change(&options)
        return options
    }

    private func plan(_ options: HTTPOptions, _ events: [(String, String)]) throws -> RequestPlan {
        RequestPlan(batch(events.map { (envelope: $0.0, json: $0.1) }), try HTTPRequest.all(options), at: 0)
    }

    @Test(arguments: [
        ("a/b?c#d", "http://h/u/a%2Fb%3Fc%23d/x?q=a%2Fb%3Fc%23d"), ("ü %", "http://h/u/%C3%BC%20%25/x?q=%C3%BC%20%25"),
        ("a\\r\\nHost: evil", "http://h/u/a%0D%0AHost%3A%20evil/x?q=a%0D%0AHost%3A%20evil"),
        ("a&b=c", "http://h/u/a%26b%3Dc/x?q=a%26b%3Dc"),
        ("\\u0000", "http://h/u/%00/x?q=%00"), ("@h:1", "http://h/u/%40h%3A1/x?q=%40h%3A1"),
    ])
    func `a value stays one segment of the path or one value of the query`(_ value: String, _ expected: String) throws {
        let plan = try plan(options("http://h/u/{}/x?q={}"), [("[0,\"\(value)\",\"\(value)\"]", "{}")])
        #expect(plan.requests.map(\.url) == [expected])
        #expect(plan.refused.isEmpty)
    }

    @Test(arguments: [
        ("http://h/u/{}", "", "the event has no value for its place in the URL's path"),
        ("http://h/u/{}/x", "..", "the event's value for the URL's path is \"..\", which a path cannot hold"),
        ("http://h/u/.{}", ".", "the event's value for the URL's path is \".\", which a path cannot hold"),
        (
            "http://h/u?x={}", String(repeating: "x", count: 8200),
            "the event's values make the URL longer than 8192 bytes"
        ),
    ])
    func `a value that a URL cannot hold rejects its event`(_ url: String, _ value: String, _ expected: String) throws {
        let plan = try plan(options(url), [("[0,\"\(value)\"]", "{}"), ("[0,\"fine\"]", "{}")])
        #expect(plan.refused == [0: expected])
        #expect(plan.requests.map(\.events) == [[1]], "the other event is sent")
    }

    @Test(
        arguments: [
            ("ada", "X-User: u ada", nil), ("", "X-User: u ", nil), ("a: b; ü", "X-User: u a: b; ü", nil),
            ("a\\r\\nX-Evil: 1", nil, "the event's value for the header X-User holds a control character"),
            ("\\u0000", nil, "the event's value for the header X-User holds a control character"),
        ] as [(String, String?, String?)])
    func `a header takes any value that cannot end it`(_ value: String, _ line: String?, _ reason: String?) throws {
        let plan = try plan(
            options("http://h/") { $0.headers = [.init(name: "X-User", value: "u \u{0}")] },
            [("[0,\"\(value)\"]", "{}")])
        #expect(plan.requests.first?.headers.first == line)
        #expect(plan.refused[0] == reason)
    }

    @Test
    func `events with equal requests share one in their order, and each kind of request has its own form`() throws {
        let first = options("http://h/a") { $0.hasBody = true }
        let second = options("http://h/b/{}") { $0.format = .ndjson }
        let plan = try plan(
            options("http://h/") { $0.alternatives = [first, second] },
            [
                ("[0,{\"k\":1,\"e\":\u{1},\"z\":[\"\u{1}\"]}]".replacing("[\"\u{1}\"]", with: "[]"), "{\"n\":0}"),
                ("[1,\"x\"]", "{\"n\":1}"),
                ("[0,{\"k\":2,\"e\":\u{1}}]", "{\"n\":2}"), ("[0,{\"k\":1,\"e\":\u{1},\"z\":[]}]", "{\"n\":3}"),
                ("[1,\"x\"]", "{\"n\":4}"),
            ])
        #expect(plan.requests.map(\.events) == [[0, 3], [1, 4], [2]])
        #expect(plan.requests.map(\.url) == ["http://h/a", "http://h/b/x", "http://h/a"])
        let bodies = plan.requests.indices.map { String(decoding: plan.body(of: $0), as: UTF8.self) }
        #expect(
            bodies == [
                "{\"k\":1,\"e\":[{\"n\":0},{\"n\":3}],\"z\":[]}", "{\"n\":1}\n{\"n\":4}\n",
                "{\"k\":2,\"e\":[{\"n\":2}]}",
            ])
    }

    @Test func `each item of an event's list is sent as a line`() throws {
        let events = [("", #"[{"create":{"_id":"a"}},{"x": [1, 2]}]"#), ("", #"{"y":1}"#), ("", "[]")]
        let plan = try plan(options("http://h/_bulk") { $0.format = .lines }, events)
        #expect(plan.requests.map(\.events) == [[0, 1, 2]])
        #expect(
            String(decoding: plan.body(of: 0), as: UTF8.self)
                == "{\"create\":{\"_id\":\"a\"}}\n{\"x\": [1, 2]}\n{\"y\":1}\n")
        #expect(plan.requests[0].headers.contains("Content-Type: application/x-ndjson"))
    }

    @Test(arguments: [
        "x", "[", "[0", "[9]", "[0,\"a]", "[0,\"a\"", "[0,\"a\",\"b\"]", "[0]", "[99999999999999999999]", "[0,\"a\\",
    ])
    func `a malformed envelope sends nothing and breaks nothing`(_ envelope: String) throws {
        let plan = try plan(options("http://h/{}"), [(envelope, "{}")])
        #expect(plan.requests.isEmpty && plan.refused.count == 1)
    }

    @Test(arguments: ["http://{}/", "http://h{}/", "http://{}@h/", "{}://h/", "unix:/run/{}.sock"])
    func `an event's value cannot set the host of a URL`(_ url: String) {
        #expect(throws: HTTPOptionsError.self) { try HTTPRequest.all(options(url)) }
    }

    @Test func `a signature matches RFC 4231 and openssl, and covers the time if configured`() {
        var signer = HMACSigner(header: "X-Signature", key: "Jefe")
        signer.prefix = "sha256="
        let body = Array("what do ya want for nothing?".utf8)
        #expect(
            signer.headers(signing: UnsignedRequest(url: "http://h/", body: body), with: nil, at: 0)
                == [
                    .init(
                        name: "X-Signature",
                        value: "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
                ])
        signer.encoding = .base64
        signer.prefix = ""
        #expect(
            signer.headers(signing: UnsignedRequest(url: "http://h/", body: body), with: nil, at: 0).first?.value
                == "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=")
        signer.timeHeader = "X-Time"
        let timed = signer.headers(
            signing: UnsignedRequest(url: "http://h/", body: body), with: nil, at: 1_700_000_000_900_000_000)
        #expect(timed.map(\.name) == ["X-Time", "X-Signature"] && timed[0].value == "1700000000")
        #expect(timed[1].value != "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=")
    }
}
