import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Penstock
@testable import PenstockHTTP

@Suite struct HTTPProviderTests {
    private func options(_ server: ScriptedServer) throws -> HTTPProvider.Options {
        var options = HTTPProvider.Options(
            service: try #require(URL(string: "http://127.0.0.1:\(server.port)")), writeKey: "key")
        options.flushInterval = .milliseconds(1)
        options.retryDelay = .milliseconds(1) ... .milliseconds(20)
        options.timeout = .seconds(30)
        options.spool = nil
        return options
    }

    private func numbers(_ request: ScriptedServer.Request) -> [Int] {
        let batch = JSONReader.value(of: request.body)?.dictionary?["batch"]?.array ?? []
        return batch.compactMap { $0.dictionary?["properties"]?.dictionary?["number"]?.int }
    }

    @Test func `a batch has the form that Segment accepts`() async throws {
        let server = try ScriptedServer([.status(200, body: #"{"success":true}"#)])
        defer { server.stop() }
        var options = try options(server)
        options.flushInterval = .seconds(3600)
        let provider = HTTPProvider(options)
        for number in 0..<3 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /v1/batch HTTP/1.1")
        #expect(request.headers["authorization"] == "Basic a2V5Og==")
        #expect(request.headers["content-type"] == "application/json")
        #expect(numbers(request) == [0, 1, 2])
        #expect(JSONReader.value(of: request.body)?.dictionary?["sentAt"]?.string.flatMap(RFC3339.date) != nil)
        #expect(provider.statistics.delivered == 3)
    }

    @Test func `a failed request is sent again until it is answered`() async throws {
        let server = try ScriptedServer([
            .status(503), .reset, .status(429, headers: ["Retry-After: 3600"]), .respondThenClose, .status(200),
        ])
        defer { server.stop() }
        let provider = HTTPProvider(try options(server))
        let reports = Reports()
        provider.attach(to: reports.handler)
        for number in 0..<10 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        let answered = server.requests.dropFirst(3).flatMap(numbers)
        #expect(answered == Array(0..<10), "in order, with none lost")
        #expect(reports.of(.unreachable).count == 1, "one report per outage")
        #expect(provider.statistics.delivered == 10)
    }

    /// A service that rejects every request with one of these events.
    private func rejecting(_ numbers: Set<Int>, status: Int = 400) -> ScriptedServer.Reply {
        .respond { request in
            let batch = JSONReader.value(of: request.body)?.dictionary?["batch"]?.array ?? []
            let found = batch.compactMap { $0.dictionary?["properties"]?.dictionary?["number"]?.int }
            return .status(numbers.isDisjoint(with: found) ? 200 : status)
        }
    }

    @Test(arguments: [400, 422], [true, false])
    func `of a rejected batch, only the event is dropped that the service rejects`(status: Int, isSpooled: Bool)
        async throws
    {
        let server = try ScriptedServer([.status(isSpooled ? 503 : 200), rejecting([700], status: status)])
        defer { server.stop() }
        var options = try options(server)
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        options.spool = isSpooled ? directory : nil
        options.flushInterval = .seconds(3600)
        options.queueEvents = 100_000
        let provider = HTTPProvider(options)
        let reports = Reports()
        provider.attach(to: reports.handler)
        if !isSpooled {
            provider.record(.numbered(-1))
            #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        }
        for number in 0..<1000 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        try await eventually("all events but one are delivered") { provider.statistics.delivered >= 999 }
        try await eventually("one event is rejected") { provider.statistics.refused == 1 }
        try await eventually("the rejection is reported") { !reports.of(.eventRefused).isEmpty }
        let report = try #require(reports.of(.eventRefused).first)
        #expect(reports.of(.eventRefused).count == 1 && report.events == 1 && report.event == "N")
        #expect(report.message.contains("HTTP \(status)"), "\(report.message)")
        #expect(server.requests.count <= 15, "one of 1000 events is found in a few requests")
        #expect(provider.statistics.dropped == 0 && provider.statistics.inMemory == 0)
    }

    @Test func `a service that rejects every event gets them one by one soon`() async throws {
        let server = try ScriptedServer([rejecting(Set(0..<300))])
        defer { server.stop() }
        var options = try options(server)
        options.flushInterval = .seconds(3600)
        let provider = HTTPProvider(options)
        for number in 0..<300 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        #expect(provider.statistics.refused == 300 && provider.statistics.delivered == 0)
        #expect(server.requests.count < 350)
    }

    @Test(arguments: [false, true]) func `purge at any time leaves the numbers right`(isFailing: Bool) async throws {
        let taken = Mutex<[Int]>([])
        let requests = Atomic(0)
        let server = try ScriptedServer([
            .respond { request in
                guard !isFailing || requests.add(1, ordering: .relaxed).oldValue % 3 > 0 else { return .status(503) }
                taken.withLock { $0 += numbers(request) }
                return .status(200)
            }
        ])
        defer { server.stop() }
        var options = try options(server)
        options.batchEvents = 3
        options.flushInterval = .zero
        let provider = HTTPProvider(options)
        for number in 0..<3000 {
            provider.record(.numbered(number))
            if number % 7 == 0 { provider.purge() }
        }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        let statistics = provider.statistics
        #expect(statistics.accepted == 3000 && statistics.inMemory == 0)
        #expect(statistics.delivered + statistics.purged == 3000)
        #expect(taken.withLock(\.count) == statistics.delivered)
    }

    @Test func `a request that is too large is sent again in smaller ones, and so are the next`() async throws {
        let server = try ScriptedServer([
            .respond { request in .status(request.body.count > 20_000 ? 413 : 200) }
        ])
        defer { server.stop() }
        var options = try options(server)
        options.flushInterval = .seconds(3600)
        let provider = HTTPProvider(options)
        for number in 0..<1000 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        #expect(provider.statistics.delivered == 1000 && provider.statistics.refused == 0)
        let delivered = server.requests.filter { $0.body.count <= 20_000 }
        #expect(delivered.flatMap(numbers) == Array(0..<1000))
        #expect(server.requests.count - delivered.count <= 4, "the provider remembers what was too large")
    }

    @Test func `limits hold, and dropped events are counted and reported`() async throws {
        let server = try ScriptedServer([.status(500)])
        defer { server.stop() }
        var options = try options(server)
        options.queueEvents = 5
        let provider = HTTPProvider(options)
        let reports = Reports()
        provider.attach(to: reports.handler)
        provider.record(.numbered(0, padding: 40_000))
        for number in 0..<8 { provider.record(.numbered(number)) }
        #expect(provider.statistics.dropped == 4)
        #expect(await provider.flush(until: .now + .milliseconds(30)) == .pending(events: 5))
        #expect(reports.all.contains { $0.event == "N" && $0.message.contains("eventBytes") })
        try await eventually("the drops are reported") { reports.of(.eventsDropped).map(\.events).reduce(0, +) == 4 }
        #expect(reports.of(.eventsDropped).allSatisfy { $0.event == "N" })
    }

    @Test func `a request stays within its limits`() throws {
        var options = HTTPProvider.Options(service: try #require(URL(string: "http://localhost")), writeKey: "k")
        options.batchBytes = 10_000
        options.batchEvents = 50
        options.flushInterval = .zero
        var outbox = HTTPOutbox(options)
        var random = SystemRandomNumberGenerator()
        for number in 0..<1000 {
            let event = RecordedEvent.numbered(number, padding: number % 400)
            let isTaken = outbox.append(event.json, now: .now)
            #expect(isTaken)
        }
        var seen = 0
        while case .post(let count) = outbox.next(now: .now, isFlushing: false) {
            let block = outbox.begin(lines: count)
            #expect(HTTPBatch.body(block.bytes, sentAt: Date()).count <= 10_000)
            #expect(count <= 50 && block.lines == count)
            for line in 0..<block.lines {
                #expect(block.event(line)?.number == seen)
                seen += 1
            }
            let verdict = outbox.answered(.status(200, retryAfter: nil), now: .now, using: &random)
            #expect(verdict == .delivered(.init(lines: count, inMemory: count)))
        }
        #expect(seen == 1000)
        #expect(outbox.bytes == 0)
    }

    @Test func `a service that asks for a wait gets it`() throws {
        var options = HTTPProvider.Options(service: try #require(URL(string: "http://localhost")), writeKey: "k")
        options.retryDelay = .milliseconds(1) ... .seconds(60)
        var outbox = HTTPOutbox(options)
        var random = SystemRandomNumberGenerator()
        let now = ContinuousClock.now
        _ = outbox.append([1], now: now)
        #expect(outbox.next(now: now, isFlushing: true) == .post(lines: 1))
        _ = outbox.begin(lines: 1)
        let verdict = outbox.answered(.status(429, retryAfter: .seconds(7)), now: now, using: &random)
        #expect(verdict == .retry)
        #expect(outbox.next(now: now, isFlushing: true) == .wait(until: now + .seconds(7)))
    }
}
