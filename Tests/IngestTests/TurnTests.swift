import Events
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Ingest

/// The work of one turn of a connection, and the end of a connection.
@Suite struct TurnTests {
    private typealias Client = NDJSONStreamTests.Client

    @Test(arguments: [false, true])
    func `a turn ends when its refusals are used up, and the next turn continues there`(_ asks: Bool) {
        let client = Client()
        if asks { client.send(NDJSONStreamTests.acks) }
        var rest = Array((String(repeating: "x\n", count: 10_000) + NDJSONStreamTests.event("1") + "\n").utf8)
        var turns = 0
        while !rest.isEmpty, turns < 1000 {
            let before = client.statistics.snapshot().refused
            var turn = TurnBudget(startingAt: SystemClock().now(), time: .seconds(3600))
            rest.removeFirst(client.stream.take(rest.span, through: client.admission, answerLimit: .max, turn: &turn))
            // The stream takes the first line alone, and the scanner counts in steps of 256.
            #expect(client.statistics.snapshot().refused - before <= UInt64(TurnBudget.refusals + 257))
            turns += 1
        }
        #expect(turns >= 8)
        #expect(client.statistics.snapshot().refused == 10_000)
        #expect(client.appender.events == [NDJSONStreamTests.event("1")])
    }

    @Test func `a turn ends after the slice in which its time runs out`() {
        let client = Client()
        let line = NDJSONStreamTests.event("1") + "\n"
        let text = Array((line + String(repeating: line, count: 10_000)).utf8)
        var turn = TurnBudget(startingAt: Instant(nanoseconds: 0), time: .nanoseconds(1))
        var taken = client.stream.take(text.span, through: client.admission, answerLimit: .max, turn: &turn)
        #expect(taken == line.utf8.count, "the stream takes the first line alone, because it may be a control line")
        turn = TurnBudget(startingAt: Instant(nanoseconds: 0), time: .nanoseconds(1))
        taken = client.stream.take(
            text.span.extracting(taken...), through: client.admission, answerLimit: .max, turn: &turn)
        #expect(taken > 0 && taken <= NDJSONStream.slice)
    }

    @Test func `a client with too many consecutive refusals is disconnected, and the reason is its last answer`() {
        let client = Client(maximumConsecutiveRefusals: 10)
        client.send(NDJSONStreamTests.acks + NDJSONStreamTests.event("1") + "\n")
        client.send(
            String(repeating: "x\n", count: 9) + NDJSONStreamTests.event("2") + "\n"
                + String(repeating: "x\n", count: 9))
        #expect(!client.stream.hasEnded, "the client never had ten consecutive refusals")
        client.send("x\n")
        #expect(client.stream.hasEnded && client.stream.hasTooManyRefusals)
        #expect(!client.answers().contains("max_consecutive_refusals"), "earlier lines are not durable yet")
        client.commit()
        let answers = client.answers()
        #expect(answers.hasPrefix("{\"ack\":21}\n"))
        #expect(answers.contains(#"{"refused":{"line":22,"messageId":null,"reason":"max_consecutive_refusals","#))
        let more = NDJSONStreamTests.event("3") + "\n"
        #expect(client.send(more) == more.utf8.count)
        #expect(client.appender.events == [NDJSONStreamTests.event("1"), NDJSONStreamTests.event("2")])
    }

    @Test func `refusals because the journal is full disconnect no client`() {
        let client = Client(maximumConsecutiveRefusals: 10)
        client.appender.state.withLock { $0.refusal = Refusal(reason: .journalFull, detail: "no room") }
        client.send(String(repeating: NDJSONStreamTests.event("1") + "\n", count: 100))
        #expect(client.statistics.snapshot().refusedByReason == [.journalFull: 100])
        #expect(!client.stream.hasEnded)
    }

    @Test func `lines that are too large count as consecutive refusals`() {
        let client = Client(maximumEventSize: 1000, maximumConsecutiveRefusals: 3)
        let large = String(repeating: "x", count: 4000) + "\n"
        for line in [large, large, large] {
            for piece in [line.prefix(2500), line.suffix(1501)] { client.send(String(piece)) }
        }
        #expect(client.stream.hasEnded)
    }

    @Test func `the last refusals are kept with their details, earlier ones are only counted`() {
        let client = Client()
        client.send(String(repeating: "x\n", count: 500) + #"{"type":"track","userId":"u","messageId":"last"}"# + "\n")
        let snapshot = client.statistics.snapshot()
        #expect(snapshot.refusedByReason == [.invalidJSON: 500, .eventNotDefined: 1])
        #expect(snapshot.recent.count == SourceStatistics.recentLimit)
        #expect(snapshot.recent.last?.refusal.messageID == "last")
        #expect(snapshot.recent.first?.refusal.detail.contains("not valid JSON") == true)
    }

    @Test func `a limit that takes effect is logged once per interval and counted each time`() {
        final class Lines: LogSink {
            let lines = Mutex<[String]>([])
            func write(_ level: Level, _ line: String) { lines.withLock { $0.append(line) } }
        }
        let sink = Lines()
        let statistics = SourceStatistics()
        let telemetry = Telemetry(sink: sink, now: { 0 })
        let notices = LimitNotices(source: "apps", statistics: statistics, telemetry: telemetry, clock: SystemClock())
        for number in 0..<100 { notices.note(.lineTimeout, "client \(number)") }
        notices.note(.maximumBuffered, "another")
        telemetry.finish()
        #expect(
            sink.lines.withLock { $0 } == [
                "source \"apps\": line_timeout took effect: client 0",
                "source \"apps\": max_buffered took effect: another",
                "99 more lines like this were left out in 10 s: source \"apps\": line_timeout took effect: client 0",
            ])
        #expect(statistics.snapshot().limits[.lineTimeout]?.count == 100)
    }

    @Test func `clients do not use the reserve of descriptors`() {
        let open = Mutex(10)
        let reserve = DescriptorReserve(
            limit: 100, count: { open.withLock { $0 } }, telemetry: nil, clock: SystemClock())
        #expect(reserve.reserve == 25)
        for _ in 0..<64 { reserve.enter() }
        #expect(reserve.hasRoom)
        reserve.enter()
        #expect(!reserve.hasRoom)
        #expect(reserve.problem == nil)
        reserve.noteShortage(nil)
        #expect(
            reserve.problem?.contains("65 of 100 descriptors (RLIMIT_NOFILE) are used by clients, 10 by others") == true
        )
        // Other parts of the process close files.
        open.withLock { $0 = 65 + 5 }
        reserve.measure()
        #expect(reserve.hasRoom)
    }

    @Test func `a refused line slows accepting for 100 ms`() {
        let pressure = RefusalPressure()
        #expect(!pressure.isHigh(at: Instant(nanoseconds: 0)))
        pressure.note(at: Instant(nanoseconds: 1_000_000_000))
        #expect(pressure.isHigh(at: Instant(nanoseconds: 1_099_999_999)))
        #expect(!pressure.isHigh(at: Instant(nanoseconds: 1_100_000_000)))
    }

    @Test func `memory is returned after a burst of clients has closed, and once more a while later`() {
        var watch = MemoryWatch()
        func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }
        for _ in 0..<10 { watch.closed(holding: 0) }
        let idle = (Int64(0)..<20).map { watch.isDue(at: at($0)) }
        #expect(!idle.contains(true))
        for _ in 0..<MemoryWatch.many { watch.closed(holding: 0) }
        let after = (Int64(20)..<60).map { watch.isDue(at: at($0)) }
        #expect(after.count { $0 } == 2)
        #expect(!watch.isWatching)
        // Memory is also returned during a burst that does not end.
        let during = (Int64(60)..<100).map { second in
            for _ in 0..<100 { watch.closed(holding: 0) }
            return watch.isDue(at: at(second))
        }
        #expect(during.count { $0 } >= 3)
    }

    @Test func `memory is returned after a few clients with much of it have closed`() {
        var watch = MemoryWatch()
        for _ in 0..<10 { watch.closed(holding: 500_000) }
        let after = (Int64(0)..<20).map { watch.isDue(at: Instant(nanoseconds: $0 * 1_000_000_000)) }
        #expect(after.count { $0 } == 1)
    }

    // MARK: Large bodies

    /// A turn on the loop for clients that send little.
    private func lightTurn(of client: HTTPClient, _ bytes: [UInt8]) -> (taken: Int, turn: TurnBudget) {
        var turn = TurnBudget.unlimited
        turn.defersLargeBodies = true
        return (client.stream.take(bytes.span, through: client.admission, answerLimit: 1 << 20, turn: &turn), turn)
    }

    static let large = HTTPClient.post(
        "/v1/batch", HTTPClient.batch((0..<300).map { HTTPClient.event("\($0)") }))
    private static let small = HTTPClient.post("/v1/track", HTTPClient.event("small"))

    @Test func `a request with a large body is left to the next turn, and so are the requests behind it`() {
        let client = HTTPClient()
        var bytes = Array((Self.small + Self.large + Self.small).utf8)
        let (taken, _) = lightTurn(of: client, bytes)
        #expect(taken == Self.small.utf8.count + Self.large.utf8.count)
        #expect(client.stream.hasDeferred && client.appender.events.count == 1)
        #expect(client.stream.settled(UInt64(taken)) == UInt64(Self.small.utf8.count), "it is not stored yet")
        bytes.removeFirst(taken)
        // Its second turn may be on the same loop, if no other one can take it.
        let (rest, _) = lightTurn(of: client, bytes)
        #expect(rest == bytes.count && !client.stream.hasDeferred)
        #expect(client.appender.events.count == 302)
        client.commit()
        #expect(client.answers().map(\.status) == [200, 200, 200])
    }

    @Test func `small requests are not left to the next turn, however many there are`() {
        let client = HTTPClient()
        for _ in 0..<10 {
            let bytes = Array(String(repeating: Self.small, count: 50).utf8)
            #expect(lightTurn(of: client, bytes).taken == bytes.count)
            client.commit()
            #expect(client.answers().count == 50)
        }
        #expect(client.appender.events.count == 500)
    }

    @Test func `a refused request with a large body is answered at once`() {
        var access = HTTPAccess()
        access.writeKeys = [Array("key".utf8)]
        let client = HTTPClient(access)
        let events = HTTPClient.batch((0..<300).map { HTTPClient.event("\($0)") })
        let request = HTTPClient.post("/v1/batch", events, fields: "Authorization: Basic eDo=\r\n")
        _ = lightTurn(of: client, Array(request.utf8))
        #expect(!client.stream.hasDeferred)
        #expect(client.answers().map(\.status) == [401])
    }

    @Test func `a client that is disconnected before its large request is stored is told so`() {
        let client = HTTPClient()
        _ = lightTurn(of: client, Array(Self.large.utf8))
        client.stream.end(Refusal(reason: .lineTimeout, detail: "too slow"), through: client.admission)
        #expect(client.stream.hasEnded && !client.stream.hasDeferred && client.appender.events.isEmpty)
        #expect(client.answers().map(\.status) == [408])
        #expect(client.statistics.snapshot().refusedByReason == [.lineTimeout: 1])
    }
}
