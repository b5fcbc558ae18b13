import Platform
import Testing

@testable import Ingest

/// After a request whose end two servers could find at different bytes, nothing is believed to be another request.
@Suite struct HTTPFramingTests {
    private let next = HTTPClient.post("/v1/track", HTTPClient.event("smuggled"))

    @Test(arguments: [
        ("Transfer-Encoding:\r\n", 501), ("Transfer-Encoding: \r\n", 501), ("Transfer-Encoding: gzip\r\n", 501),
        ("Transfer-Encoding:\r\nContent-Length: 2\r\n", 400), ("Content-Length: 2\r\nTransfer-Encoding:\r\n", 400),
        ("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Content-Length: 2\r\nContent-Length: 2\r\n", 400),
        ("Content-Length: 2, 2\r\n", 400), ("Content-Length: +2\r\n", 400), ("Host: b\r\n", 400),
        ("Authorization: a\r\nAuthorization: b\r\n", 400),
    ])
    func `a request with a doubtful end ends the connection`(_ fields: String, _ status: Int) {
        let client = HTTPClient()
        client.send("POST /v1/track HTTP/1.1\r\nHost: a\r\n\(fields)\r\n{}" + next)
        client.commit()
        let answers = client.answers()
        #expect(answers.map(\.status) == [status])
        #expect(answers.first?.fields["connection"] == "close")
        #expect(client.stream.hasEnded)
        #expect(client.appender.events.isEmpty)
    }

    @Test(arguments: ["nonsense\r\n", "POST /v1/track HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"])
    func `a connection that ends with a refusal has used its turn for one`(_ text: String) {
        let client = HTTPClient()
        var turn = TurnBudget.unlimited
        _ = client.stream.take(
            Array(text.utf8).span, through: client.admission, answerLimit: 1 << 20, turn: &turn)
        #expect(client.stream.hasEnded)
        #expect(turn.events == 1 && turn.accepted == 0)
    }

    @Test func `HTTP 1 0 has no chunks`() {
        let client = HTTPClient()
        client.send(
            "POST /v1/track HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + next)
        #expect(client.answers().map(\.status) == [400])
        #expect(client.stream.hasEnded)
    }

    @Test(arguments: ["a b", "a/b", "a\"b", "<a>", "a@b", "a?b", "ä"])
    func `a Host that is no host is refused`(_ host: String) {
        let client = HTTPClient()
        client.send("GET /health HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(client.answers().map(\.status) == [400])
        #expect(client.stream.hasEnded)
    }

    @Test(arguments: ["", "localhost", "a.example:8377", "[::1]:8377", "127.0.0.1"])
    func `any other Host is taken`(_ host: String) throws {
        #expect(try HTTPClient().ask("GET /health HTTP/1.1\r\nHost: \(host)\r\n\r\n").status == 200)
    }

    @Test func `a few empty lines may stand before a request, but no endless stream of them`() throws {
        let client = HTTPClient()
        #expect(try client.ask(String(repeating: "\r\n", count: 10) + HTTPClient.get("/health")).status == 200)
        var sent = 0
        let lines = Array(String(repeating: "\r\n", count: 100).utf8)
        while !client.stream.hasEnded, sent < 1 << 20 { sent += client.send(lines) }
        #expect(client.stream.hasEnded && sent < 4096)
        #expect(client.answers().map(\.status) == [400])
    }

    @Test(arguments: ["1;\(String(repeating: "x", count: 1000))\r\n \r\n", "00000001\r\n \r\n"])
    func `a body ends somewhere, however little of it is content`(_ chunk: String) {
        var access = HTTPAccess()
        access.limits.maximumBody = 100 << 10
        let client = HTTPClient(access)
        client.send("POST /v1/batch HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunks = Array(String(repeating: chunk, count: 10).utf8)
        var sent = 0
        while !client.stream.hasEnded, sent < 100 << 20 { sent += client.send(chunks) }
        #expect(client.stream.hasEnded && sent < 2 << 20)
        #expect(client.answers().map(\.status) == [400])
    }

    @Test func `a request whose refusals end the connection says so`() {
        let client = HTTPClient(maximumConsecutiveRefusals: 10)
        client.send(HTTPClient.post("/v1/batch", HTTPClient.batch(Array(repeating: "1", count: 10))) + next)
        let answers = client.answers()
        #expect(answers.map(\.status) == [400])
        #expect(answers.first?.fields["connection"] == "close")
        #expect(client.stream.hasEnded && client.appender.events.isEmpty)
    }

    @Test func `invented write keys do not have a rate of their own`() throws {
        let client = HTTPClient(rateLimit: ClientRateLimit(per: .writeKey, eventsPerSecond: 1, burst: 1))
        func ask(_ key: String) throws -> Int {
            let fields = "Authorization: Bearer \(key)\r\n"
            return try client.ask(HTTPClient.post("/v1/track", HTTPClient.event("1"), fields: fields)).status
        }
        #expect(try ["a", "b", "c", "d"].map(ask).last == 429)
    }
}
