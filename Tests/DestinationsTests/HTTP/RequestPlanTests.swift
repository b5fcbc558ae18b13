import Delivery
import Events
import Testing

@testable import Destinations

/// What of a request depends on its events: where it goes, what goes around them, which share one, and
/// which are not sent at all.
@Suite struct RequestPlanTests {
    /// A batch of events, each with what the router would write before it.
    private func batch(_ events: [(envelope: String, json: String)]) -> OutboundBatch {
        var batch = OutboundBatch()
        for (position, event) in events.enumerated() {
            let envelope = Array(event.envelope.utf8) + (event.envelope.isEmpty ? [] : [0])
            batch.payload += envelope
            let start = batch.payload.count
            batch.payload += Array(event.json.utf8)
            var outbound = OutboundEvent(
                position: UInt64(position), receivedAt: 0, kind: .track, payload: start..<batch.payload.count, messageID: start..<start)
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

    @Test("A value stays one segment of the path, or one value of the query", arguments: [
        ("a/b?c#d", "http://h/u/a%2Fb%3Fc%23d/x?q=a%2Fb%3Fc%23d"), ("ü %", "http://h/u/%C3%BC%20%25/x?q=%C3%BC%20%25"),
        ("a\\r\\nHost: evil", "http://h/u/a%0D%0AHost%3A%20evil/x?q=a%0D%0AHost%3A%20evil"), ("a&b=c", "http://h/u/a%26b%3Dc/x?q=a%26b%3Dc"),
        ("\\u0000", "http://h/u/%00/x?q=%00"), ("@h:1", "http://h/u/%40h%3A1/x?q=%40h%3A1"),
    ])
    func encoding(_ value: String, _ expected: String) throws {
        let plan = try plan(options("http://h/u/{}/x?q={}"), [("[0,\"\(value)\",\"\(value)\"]", "{}")])
        #expect(plan.requests.map(\.url) == [expected])
        #expect(plan.refused.isEmpty)
    }

    @Test("An event whose value has no place in a URL or a header is not sent", arguments: [
        ("http://h/u/{}", "", "the event has no value for its place in the URL's path"),
        ("http://h/u/{}/x", "..", "the event's value for the URL's path is \"..\", which a path cannot hold"),
        ("http://h/u/.{}", ".", "the event's value for the URL's path is \".\", which a path cannot hold"),
        ("http://h/u?x={}", String(repeating: "x", count: 8200), "the event's values make the URL longer than 8192 bytes"),
    ])
    func refusedValues(_ url: String, _ value: String, _ expected: String) throws {
        let plan = try plan(options(url), [("[0,\"\(value)\"]", "{}"), ("[0,\"fine\"]", "{}")])
        #expect(plan.refused == [0: expected])
        #expect(plan.requests.map(\.events) == [[1]], "the others are")
    }

    @Test("A header takes a value as it is, but nothing that could end it", arguments: [
        ("ada", "X-User: u ada", nil), ("", "X-User: u ", nil), ("a: b; ü", "X-User: u a: b; ü", nil),
        ("a\\r\\nX-Evil: 1", nil, "the event's value for the header X-User holds a control character"),
        ("\\u0000", nil, "the event's value for the header X-User holds a control character"),
    ] as [(String, String?, String?)])
    func headers(_ value: String, _ line: String?, _ reason: String?) throws {
        let plan = try plan(options("http://h/") { $0.headers = [.init(name: "X-User", value: "u \u{0}")] }, [("[0,\"\(value)\"]", "{}")])
        #expect(plan.requests.first?.headers.first == line)
        #expect(plan.refused[0] == reason)
    }

    @Test("Events that want the same share a request, in their order; each kind of request has its own form")
    func grouping() throws {
        let first = options("http://h/a") { $0.hasBody = true }
        let second = options("http://h/b/{}") { $0.format = .ndjson }
        let plan = try plan(
            options("http://h/") { $0.alternatives = [first, second] },
            [
                ("[0,{\"k\":1,\"e\":\u{1},\"z\":[\"\u{1}\"]}]".replacing("[\"\u{1}\"]", with: "[]"), "{\"n\":0}"), ("[1,\"x\"]", "{\"n\":1}"),
                ("[0,{\"k\":2,\"e\":\u{1}}]", "{\"n\":2}"), ("[0,{\"k\":1,\"e\":\u{1},\"z\":[]}]", "{\"n\":3}"), ("[1,\"x\"]", "{\"n\":4}"),
            ])
        #expect(plan.requests.map(\.events) == [[0, 3], [1, 4], [2]])
        #expect(plan.requests.map(\.url) == ["http://h/a", "http://h/b/x", "http://h/a"])
        let bodies = plan.requests.indices.map { String(decoding: plan.body(of: $0), as: UTF8.self) }
        #expect(bodies == ["{\"k\":1,\"e\":[{\"n\":0},{\"n\":3}],\"z\":[]}", "{\"n\":1}\n{\"n\":4}\n", "{\"k\":2,\"e\":[{\"n\":2}]}"])
    }

    @Test("What is no envelope of ours sends nothing, and breaks nothing", arguments: ["x", "[", "[0", "[9]", "[0,\"a]", "[0,\"a\"", "[0,\"a\",\"b\"]", "[0]", "[99999999999999999999]", "[0,\"a\\"])
    func nonsense(_ envelope: String) throws {
        let plan = try plan(options("http://h/{}"), [(envelope, "{}")])
        #expect(plan.requests.isEmpty && plan.refused.count == 1)
    }

    @Test("The event cannot say where it goes", arguments: ["http://{}/", "http://h{}/", "http://{}@h/", "{}://h/", "unix:/run/{}.sock"])
    func authority(_ url: String) {
        #expect(throws: HTTPOptionsError.self) { try HTTPRequest.all(options(url)) }
    }

    @Test("A signature is what RFC 4231 and openssl say, and holds the time if it is to")
    func signature() throws {
        var signer = HMACSigner(header: "X-Signature", key: "Jefe")
        signer.prefix = "sha256="
        let body = Array("what do ya want for nothing?".utf8)
        #expect(
            try signer.headers(signing: body, path: "/", at: 0)
                == [.init(name: "X-Signature", value: "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")])
        signer.encoding = .base64
        signer.prefix = ""
        #expect(try signer.headers(signing: body, path: "/", at: 0).first?.value == "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=")
        signer.timeHeader = "X-Time"
        let timed = try signer.headers(signing: body, path: "/", at: 1_700_000_000_900_000_000)
        #expect(timed.map(\.name) == ["X-Time", "X-Signature"] && timed[0].value == "1700000000")
        #expect(timed[1].value != "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=")
    }
}
