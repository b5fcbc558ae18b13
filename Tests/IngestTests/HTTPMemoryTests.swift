import Events
import Platform
import Testing

@testable import Ingest

/// What a connection counts as its buffered bytes. `max_buffered` bounds only these.
@Suite struct HTTPMemoryTests {
    private let head = "POST /v1/track HTTP/1.1\r\nHost: a\r\n"

    @Test func `an unfinished head counts`() {
        let client = HTTPClient()
        client.send("POST /v1/track?\(String(repeating: "x", count: 6000)) HTTP/1.1\r\n")
        client.send("Authorization: \(String(repeating: "y", count: 6000))")
        #expect(client.stream.heldBytes >= 12_000)
        client.send("\r\n\(String(repeating: "z", count: 3000))")
        #expect(client.stream.heldBytes >= 15_000)
    }

    @Test func `the head of a request with an unfinished body counts`() {
        let client = HTTPClient()
        client.send(
            head + "Authorization: \(String(repeating: "y", count: 12_000))\r\nContent-Length: 1000\r\n\r\n")
        #expect(client.stream.heldBytes >= 12_000)
    }

    @Test func `an unfinished compressed body counts with the memory of its decompression`() {
        let client = HTTPClient()
        client.send(head + "Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n")
        #expect(client.stream.heldBytes < 10_000)
        client.send([0x1F, 0x8B, 8, 0])
        #expect(client.stream.heldBytes >= 40_000)
        client.send([0, 0, 0, 0, 0, 3, 0xFF])
        #expect(client.stream.heldBytes < 10_000, "the damaged body is not decompressed any further")
    }

    @Test func `a connection between two requests holds nothing`() throws {
        let client = HTTPClient()
        let field = "Authorization: Bearer \(String(repeating: "y", count: 12_000))\r\n"
        #expect(try client.ask(HTTPClient.post("/v1/track", HTTPClient.event("1"), fields: field)).status == 200)
        #expect(client.stream.heldBytes == 0)
        let trailer = "X-\(String(repeating: "z", count: 6000)): 1\r\n"
        client.send(head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\(trailer)\r\n")
        #expect(client.answers().map(\.status) == [400])
        #expect(client.stream.heldBytes == 0)
    }

    @Test func `an answer describes the first refused events and counts all of them`() throws {
        let client = HTTPClient()
        let answer = try client.ask(HTTPClient.post("/v1/batch", HTTPClient.batch(Array(repeating: "{}", count: 300))))
        #expect(answer.status == 400)
        #expect(answer.json["refused_events"] as? Int == 300)
        let described = try #require(answer.json["refused"] as? [[String: Any]])
        #expect(described.count == 100)
        #expect(described.allSatisfy { $0["detail"] as? String != "" && $0["detail"] != nil })
    }
}

/// The time of one turn.
@Suite struct HTTPTurnTests {
    @Test func `a body in chunks of one byte does not take longer than a turn`() {
        let client = HTTPClient()
        client.send("POST /v1/track HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunks = Array(String(repeating: "1\r\n \r\n", count: 40_000).utf8)
        // The time of this turn is over already.
        var turn = TurnBudget(startingAt: Instant(nanoseconds: 0))
        let taken = client.stream.take(chunks.span, through: client.admission, answerLimit: 1 << 20, turn: &turn)
        #expect(taken > 0 && taken <= 32 << 10, "of \(chunks.count) bytes")
        #expect(turn.isSpent)
    }
}
