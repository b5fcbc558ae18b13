import Events
import Foundation
import Platform
import Synchronization
import Testing

@testable import Ingest

/// Bodies, waits and rates of HTTP requests.
@Suite struct HTTPLimitTests {
    private func event(_ id: String) -> String { HTTPClient.event(id) }
    private let head = "POST /v1/batch HTTP/1.1\r\nHost: a\r\n"

    private var small: HTTPAccess {
        var access = HTTPAccess()
        access.limits.maximumBody = 1000
        return access
    }

    @Test func `a body that is too large is refused and read to its end`() throws {
        let client = HTTPClient(small)
        let body = HTTPClient.batch((0..<50).map { event("\($0)") })
        let answer = try client.ask(HTTPClient.post("/v1/batch", body))
        #expect(answer.status == 400)
        #expect(answer.reason == "too_large")
        let chunk = "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
        let chunked = try client.ask(head + "Transfer-Encoding: chunked\r\n\r\n\(chunk)\(chunk)0\r\n\r\n")
        #expect(chunked.reason == "too_large")
        #expect(try client.ask(HTTPClient.post("/v1/track", event("1"))).status == 200)
        #expect(client.appender.events == [event("1")])
    }

    @Test func `a body that is far too large is not read`() throws {
        let client = HTTPClient(small)
        let answer = try client.ask(head + "Content-Length: 18446744073709551615\r\n\r\n")
        #expect(answer.status == 400)
        #expect(answer.fields["connection"] == "close")
        #expect(client.stream.hasEnded)

        let endless = HTTPClient(small)
        endless.send(head + "Transfer-Encoding: chunked\r\n\r\n")
        let chunk = Array("10000\r\n\(String(repeating: " ", count: 0x10000))\r\n".utf8)
        var sent = 0
        while !endless.stream.hasEnded, sent < 100 << 20 { sent += endless.send(chunk) }
        #expect(endless.stream.hasEnded && sent < 20 << 20)
        #expect(endless.answers().map(\.status) == [400])
        #expect(endless.stream.heldBytes < 100_000)
    }

    @Test func `a client that expects 100 gets it, or the refusal`() throws {
        let client = HTTPClient(small)
        let body = HTTPClient.batch([event("1")])
        client.send(head + "Expect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
        #expect(client.answers().map(\.status) == [100])
        client.send(body)
        client.commit()
        #expect(client.answers().map(\.status) == [200])

        let answer = try client.ask(head + "Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n")
        #expect(answer.status == 400)
        #expect(answer.fields["connection"] == "close", "the client may send the body or not")
        #expect(client.stream.hasEnded)
    }

    @Test func `a request waits for room in the journal`() {
        let client = HTTPClient()
        client.appender.state.withLock { $0.isBusy = true }
        let bytes = Array((HTTPClient.post("/v1/track", event("1")) + HTTPClient.post("/v1/track", event("2"))).utf8)
        let taken = client.send(bytes)
        #expect(taken == bytes.count / 2)
        #expect(client.stream.isStalled && !client.stream.hasUnfinishedLine)
        #expect(client.send(Array(bytes[taken...])) == 0)
        client.appender.state.withLock { $0.isBusy = false }
        #expect(client.send(Array(bytes[taken...])) == taken)
        client.commit()
        #expect(client.answers().map(\.status) == [200, 200])
        #expect(client.appender.events == [event("1"), event("2")])
    }

    @Test func `a request does not wait longer than max_wait`() throws {
        let client = HTTPClient()
        client.appender.state.withLock { $0.isBusy = true }
        let before = SystemClock().now()
        client.send(HTTPClient.post("/v1/batch", HTTPClient.batch([event("1"), event("2")])))
        let after = SystemClock().now()
        #expect(!client.stream.giveUp(at: before + .seconds(9), through: client.admission))
        #expect(client.stream.giveUp(at: after + .seconds(11), through: client.admission))
        let answers = client.answers()
        #expect(answers.map(\.status) == [503])
        #expect(answers.first?.fields["retry-after"] == "1")
        #expect(answers.first?.reason == "journal_full")
        #expect(client.statistics.snapshot().refusedByReason == [.journalFull: 2])
        client.appender.state.withLock { $0.isBusy = false }
        #expect(try client.ask(HTTPClient.post("/v1/track", event("3"))).status == 200)
    }

    @Test func `a full journal is reported so that the client tries again`() throws {
        let client = HTTPClient()
        client.appender.state.withLock { $0.refusal = Refusal(reason: .journalFull, detail: "full") }
        let answer = try client.ask(HTTPClient.post("/v1/batch", HTTPClient.batch(["{}", event("1")])))
        #expect(answer.status == 503)
        #expect(answer.reason == "journal_full")
        #expect(answer.fields["retry-after"] == "1")
    }

    @Test func `a client that sends too much is told when to come again`() throws {
        let client = HTTPClient(rateLimit: ClientRateLimit(per: .user, eventsPerSecond: 1, burst: 3))
        let request = HTTPClient.post("/v1/batch", HTTPClient.batch((0..<10).map { event("\($0)") }))
        #expect(try client.ask(request).status == 200)
        let answer = try client.ask(request)
        #expect(answer.status == 429)
        #expect(answer.reason == "rate_limited")
        let wait = try #require(answer.fields["retry-after"].flatMap(Int.init))
        #expect((5...8).contains(wait), "10 events were taken, 3 at once are allowed, and one each second")
        #expect(client.statistics.snapshot().refusedByReason == [.rateLimited: 10])
        #expect(client.appender.events.count == 10)
    }
}
