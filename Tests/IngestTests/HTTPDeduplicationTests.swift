import Events
import Platform
import Synchronization
import Testing

@testable import Ingest

@Suite struct HTTPDeduplicationTests {
    private static func client() -> HTTPClient {
        let client = HTTPClient()
        let deduplication = client.statistics.deduplication
        let now = SystemClock().now()
        deduplication.finish(
            deduplication.begin(.init(window: .seconds(3600), memory: 1 << 20), at: now), at: now)
        return client
    }

    private static func batch(_ ids: String...) -> String {
        HTTPClient.post("/v1/batch", HTTPClient.batch(ids.map { HTTPClient.event($0) }))
    }

    @Test func `a request that repeats one that is not durable yet is answered after it, and both succeed`() {
        let client = Self.client()
        client.send(Self.batch("1", "2") + Self.batch("2", "1") + HTTPClient.get("/health"))
        #expect(client.appender.events == ["1", "2"].map { HTTPClient.event($0) })
        #expect(client.answers().isEmpty, "nothing is durable")
        client.stream.durable(upTo: 1)
        #expect(client.answers().isEmpty, "the second event is not durable")
        #expect(client.stream.awaitedEnd == 2)
        client.stream.durable(upTo: 2)
        let answers = client.answers()
        #expect(answers.map(\.status) == [200, 200, 200])
        #expect(answers.prefix(2).map(\.body) == ["{\"success\":true}\n", "{\"success\":true}\n"])
        #expect(answers.last?.body.contains("success") == false, "\(answers)")
        let snapshot = client.statistics.snapshot()
        #expect(snapshot.accepted == 2)
        #expect(snapshot.duplicates == 2)
        #expect(snapshot.refused == 0)
    }

    @Test func `a repeated request with one new event waits for that event`() {
        let client = Self.client()
        client.send(Self.batch("1"))
        client.commit()
        #expect(client.answers().map(\.status) == [200])
        client.send(Self.batch("1", "2") + Self.batch("1"))
        #expect(client.answers().isEmpty, "the repeated event is durable, but the answers keep their order")
        client.stream.durable(upTo: 2)
        #expect(client.answers().map(\.status) == [200, 200])
        #expect(client.statistics.snapshot().duplicates == 2)
    }

    @Test func `an event that a batch has twice is stored once`() throws {
        let client = Self.client()
        let answer = try client.ask(Self.batch("1", "2", "1", "1"))
        #expect(answer.status == 200)
        #expect(answer.body == "{\"success\":true}\n")
        #expect(client.appender.events == ["1", "2"].map { HTTPClient.event($0) })
        #expect(client.statistics.snapshot().accepted == 2)
        #expect(client.statistics.snapshot().duplicates == 2)
    }

    /// The journal takes a large batch in pieces.
    @Test func `an event that a batch repeats after many others is stored once`() throws {
        let client = Self.client()
        let ids = (0..<2_000).map { "message-\($0)" }
        let again = ids.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)
        let events = (ids + again).map { HTTPClient.event($0) }
        #expect(try client.ask(HTTPClient.post("/v1/batch", HTTPClient.batch(events))).status == 200)
        #expect(client.appender.events == ids.map { HTTPClient.event($0) })
        #expect(client.appender.state.withLock { $0.offers } > 1)
        #expect(client.statistics.snapshot().duplicates == 400)
    }

    @Test func `a request that the journal has no room for is stored once when it has`() {
        let client = Self.client()
        client.appender.state.withLock { $0.isBusy = true }
        let request = Array((Self.batch("1", "1") + Self.batch("1")).utf8)
        let taken = client.send(request)
        #expect(client.stream.isStalled)
        #expect(client.statistics.snapshot().duplicates == 0)
        client.appender.state.withLock { $0.isBusy = false }
        client.send(Array(request[taken...]))
        client.commit()
        #expect(client.answers().map(\.status) == [200, 200])
        #expect(client.appender.events == [HTTPClient.event("1")])
        #expect(client.statistics.snapshot().duplicates == 2)
    }
}
