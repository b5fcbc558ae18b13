import Events
import Foundation
import Platform
import Testing

@testable import Ingest

@Suite struct HTTPStreamTests {
    private func event(_ id: String) -> String { HTTPClient.event(id) }
    private func batch(_ items: String..., more: String = "") -> String { HTTPClient.batch(items, more: more) }
    private func post(_ path: String, _ body: String, fields: String = "") -> String {
        HTTPClient.post(path, body, fields: fields)
    }
    private func get(_ path: String, method: String = "GET", fields: String = "") -> String {
        HTTPClient.get(path, method: method, fields: fields)
    }

    @Test func `a request is answered when its events are durable`() {
        let client = HTTPClient()
        client.send(post("/v1/batch", batch(event("1"), event("2"))))
        #expect(client.appender.events == [event("1"), event("2")])
        #expect(client.answers().isEmpty)
        #expect(client.stream.awaitedEnd == 2)
        client.commit()
        let answers = client.answers()
        #expect(answers.map(\.status) == [200])
        #expect(answers.map(\.body) == ["{\"success\":true}\n"])
        #expect(!client.stream.hasEnded)
    }

    @Test func `requests sent without waiting are answered in their order`() {
        let client = HTTPClient()
        client.send(
            post("/v1/track", event("1")) + get("/health") + post("/v1/track", "nonsense") + post("/v1/t", event("2")))
        #expect(client.answers().isEmpty, "the first one is not durable")
        client.stream.durable(upTo: 1)
        #expect(client.answers().map(\.status) == [200, 200, 400])
        client.stream.durable(upTo: 2)
        #expect(client.answers().map(\.status) == [200])
    }

    @Test func `it reads no further than its answers may wait`() {
        let client = HTTPClient()
        let request = Array(post("/v1/track", event("1")).utf8)
        let stream = (0..<200).flatMap { _ in request }
        let taken = client.send(stream)
        #expect(taken == AnswerQueue.limit * request.count)
        #expect(!client.stream.mayTake)
        client.commit()
        #expect(client.stream.mayTake)
        #expect(client.send(Array(stream[taken...])) > 0)
    }

    private func chunk(_ text: some StringProtocol) -> String {
        "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
    }

    @Test func `a stream cut anywhere gives the same events and answers`() {
        let stream = Array(
            (post("/v1/batch", batch(event("1"), "{}", more: ",\"writeKey\":\"k\"")) + get("/ready")
                + "POST /v1/track HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + chunk(event("2").prefix(30)) + chunk(event("2").dropFirst(30)) + chunk("")
                + post("/nowhere", event("3"))).utf8)
        let whole = HTTPClient()
        whole.send(stream)
        whole.commit()
        let expected = whole.answers().map { [$0.status.description, $0.body] }
        #expect(expected.map(\.[0]) == ["200", "200", "200", "404"])
        for cut in 1..<stream.count {
            let client = HTTPClient()
            #expect(client.send(Array(stream[..<cut])) == cut)
            client.send(Array(stream[cut...]))
            client.commit()
            #expect(client.answers().map { [$0.status.description, $0.body] } == expected, "cut at \(cut)")
            #expect(client.appender.events == whole.appender.events)
        }
        let bytewise = HTTPClient()
        for byte in stream { bytewise.send([byte]) }
        bytewise.commit()
        #expect(bytewise.answers().map { [$0.status.description, $0.body] } == expected)
    }

    @Test func `a refused event is reported and does not affect its neighbors`() throws {
        let client = HTTPClient()
        let answer = try client.ask(
            post("/v1/batch", batch(event("1"), #"{"type":"track","userId":"u","messageId":"x"}"#)))
        #expect(answer.status == 200)
        #expect(client.appender.events == [event("1")])
        #expect(answer.json["success"] as? Bool == true)
        #expect(answer.json["refused_events"] as? Int == 1)
        let refused = try #require((answer.json["refused"] as? [[String: Any]])?.first)
        #expect(refused["index"] as? Int == 1)
        #expect(refused["messageId"] as? String == "x")
        #expect(refused["reason"] as? String == "event_not_defined")
        #expect(client.statistics.snapshot().refusedByReason == [.eventNotDefined: 1])
    }

    @Test func `a request whose events are all refused is refused`() throws {
        let client = HTTPClient()
        let answer = try client.ask(post("/v1/track", #"{"userId":"u"}"#))
        #expect(answer.status == 400)
        #expect(answer.reason == "event_not_defined")
    }

    @Test(arguments: [
        ("{\"batch\":[EVENT,{\"type\":]}", "invalid_json"), ("{\"batch\":[EVENT]", "invalid_json"),
        ("{\"batch\":[EVENT]}x", "invalid_json"), ("{\"batch\":[]}", "empty_batch"), ("", "invalid_json"),
        ("{\"batch\":[EVENT,{\"type\":\"track\",\"event\":\"\u{1}\",\"userId\":\"u\"}]}", "invalid_json"),
    ])
    func `nothing of a request that is not valid is stored`(_ body: String, _ reason: String) throws {
        let client = HTTPClient()
        let answer = try client.ask(post("/v1/batch", body.replacing("EVENT", with: event("1"))))
        #expect(answer.status == 400)
        #expect(answer.reason == reason)
        #expect(client.appender.events.isEmpty)
        #expect(client.statistics.snapshot().refused == 1)
        #expect(!client.stream.hasEnded)
    }

    @Test func `half of a surrogate pair refuses its event alone`() throws {
        let client = HTTPClient()
        let broken = #"{"type":"track","event":"\ud83d","userId":"u"}"#
        let answer = try client.ask(post("/v1/batch", batch(event("1"), broken, event("2"))))
        #expect(answer.status == 200)
        #expect(answer.json["refused_events"] as? Int == 1)
        #expect(client.appender.events == [event("1"), event("2")])
    }

    @Test func `a request of more events than allowed is refused`() throws {
        let client = HTTPClient()
        let answer = try client.ask(post("/v1/batch", HTTPClient.batch((0...2500).map { event("\($0)") })))
        #expect(answer.status == 400)
        #expect(answer.reason == "too_large")
        #expect(client.appender.events.isEmpty)
    }

    @Test(arguments: [
        ("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 404), ("GET /v1/batch HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("DELETE /v1/track HTTP/1.1\r\nHost: a\r\n\r\n", 405), ("GET /health HTTP/1.1\r\n\r\n", 400),
        ("GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET /health HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("POST /v1/track HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST /v1/track HTTP/1.1\r\nHost: a\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\n1", 415),
        ("POST /v1/logs HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n1", 415),
        ("POST /v1/track HTTP/1.1\r\nHost: a\r\nExpect: a cake\r\nContent-Length: 1\r\n\r\n1", 417),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 404), ("no HTTP at all\r\n\r\n", 400),
        ("POST /v1/track HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
    ])
    func `what cannot be served is refused with its status`(_ request: String, _ status: Int) throws {
        #expect(try HTTPClient().ask(request).status == status)
    }

    @Test func `HTTP 1.0 and Connection close end the connection after the answer`() throws {
        for request in ["GET /health HTTP/1.0\r\n\r\n", get("/health", fields: "Connection: close\r\n")] {
            let client = HTTPClient()
            let answer = try client.ask(request)
            #expect(answer.status == 200)
            #expect(answer.fields["connection"] == "close")
            #expect(client.stream.hasEnded)
        }
    }

    @Test func `HEAD is answered without the body`() {
        let client = HTTPClient()
        client.send(get("/ready", method: "HEAD"))
        let answers = HTTPClient.Answer.all(in: client.stream.takeAnswers() ?? [], toHEAD: true)
        #expect(answers.map(\.status) == [200])
        #expect(answers.first?.fields["content-length"] == "19")
    }

    @Test func `a daemon that cannot take events is not ready`() throws {
        let client = HTTPClient(obstacle: "the journal is full")
        #expect(try client.ask(get("/health")).status == 200)
        let answer = try client.ask(get("/ready"))
        #expect(answer.status == 503)
        #expect(answer.fields["retry-after"] == "1")
        #expect(answer.json["detail"] as? String == "the journal is full")
    }

    @Test func `an incomplete request is counted when its client leaves`() {
        let client = HTTPClient()
        client.send(String(post("/v1/track", event("1")).dropLast()))
        #expect(client.stream.hasUnfinishedLine)
        client.stream.finish(through: client.admission)
        #expect(client.statistics.snapshot().refusedByReason == [.invalidRequest: 1])
        #expect(client.appender.events.isEmpty)
    }

    @Test func `a request that takes too long is ended with the reason`() throws {
        let client = HTTPClient()
        client.send(post("/v1/track", event("1")) + "POST /v1/track HTTP/1.1\r\n")
        client.stream.end(Refusal(reason: .lineTimeout, detail: "too slow"), through: client.admission)
        #expect(client.stream.hasEnded)
        #expect(client.answers().isEmpty)
        client.commit()
        #expect(client.answers().map(\.status) == [200, 408])
    }

    @Test func `a client whose requests are refused in a row is disconnected`() throws {
        let client = HTTPClient(maximumConsecutiveRefusals: 3)
        for _ in 0..<2 { #expect(try client.ask(post("/v1/track", "x")).fields["connection"] == nil) }
        #expect(try client.ask(post("/v1/track", "x")).fields["connection"] == "close")
        #expect(client.stream.hasEnded && client.stream.hasTooManyRefusals)
    }
}
