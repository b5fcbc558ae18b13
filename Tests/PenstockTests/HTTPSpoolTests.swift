import Foundation
import TestSupport
import Testing

@testable import Penstock
@testable import PenstockHTTP

/// The spool of the provider for HTTP, with a service that fails, hangs and comes back.
@Suite final class HTTPSpoolTests {
    private let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func options(_ server: ScriptedServer, key: String = "key") throws -> HTTPProvider.Options {
        var options = HTTPProvider.Options(
            service: try #require(URL(string: "http://127.0.0.1:\(server.port)")), writeKey: key,
            environment: ["PENSTOCK_SPOOL": directory])
        options.flushInterval = .milliseconds(1)
        options.retryDelay = .milliseconds(20) ... .milliseconds(200)
        options.closingTimeout = .milliseconds(50)
        options.adoptionInterval = .milliseconds(50)
        options.timeout = .seconds(3600)
        return options
    }

    private func numbers(_ server: ScriptedServer, from first: Int = 0) -> [Int] {
        server.requests.dropFirst(first).flatMap { request in
            let batch = JSONReader.value(of: request.body)?.dictionary?["batch"]?.array ?? []
            return batch.compactMap { $0.dictionary?["properties"]?.dictionary?["number"]?.int }
        }
    }

    private var files: [String] {
        (FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []).filter {
            $0.hasSuffix(".ndjson")
        }
    }

    @Test func `events are spooled during an outage, and sent in order after it`() async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        let provider = HTTPProvider(try options(server))
        let reports = Reports()
        provider.attach(to: reports.handler)
        for number in 0..<500 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete, "they are on disk")
        #expect(provider.statistics.inMemory == 0 && provider.statistics.spooledBytes > 0)
        #expect(provider.statistics.delivered == 0)
        let failed = server.requests.count
        server.change(to: [.status(200)])
        for number in 500..<600 { provider.record(.numbered(number)) }
        try await eventually("all are delivered") { provider.statistics.delivered == 600 }
        var seen: Set<Int> = []
        let received = numbers(server, from: max(0, failed - 1)).filter { seen.insert($0).inserted }
        #expect(received == Array(0..<600))
        #expect(provider.statistics.spooledBytes == 0 && files.isEmpty)
        #expect(reports.of(.unreachable).count == 1 && reports.of(.eventsDropped).isEmpty)
    }

    @Test func `the next process sends what an earlier one left, before its own events`() async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        do {
            let first = HTTPProvider(try options(server))
            for number in 0..<50 { first.record(.numbered(number)) }
            #expect(await first.flush(until: .now + .seconds(60)) == .complete)
        }
        let before = server.requests.count
        server.change(to: [.status(200)])
        let next = HTTPProvider(try options(server))
        try await eventually("the events of the first provider are delivered without a call") {
            next.statistics.delivered + (numbers(server, from: before).contains(49) ? 50 : 0) >= 50
        }
        next.record(.numbered(50))
        #expect(await next.flush(until: .now + .seconds(60)) == .complete)
        #expect(Set(numbers(server, from: before)) == Set(0...50))
    }

    /// The ways that end a process in order, with `HTTPProvider` in it.
    @Test(arguments: ["returning", "exit", "thread", "handler", "released", "blocking"], [200, 503])
    func `a process that ends loses no event`(way: String, status: Int) async throws {
        let server = try ScriptedServer([.status(status)])
        defer { server.stop() }
        let options = try options(server)
        let result = try await ProgramResult.run(
            Binaries.directory + "/sdk-application", [options.service.absoluteString, directory, way, "200"])
        #expect(result.status == (["exit", "thread"].contains(way) ? 3 : 0), "\(result.errors)")
        #expect(!result.errors.contains("events_dropped"), "\(result.errors)")
        let before = status == 200 ? 0 : server.requests.count
        server.change(to: [.status(200)])
        let next = HTTPProvider(options)
        var seen: Set<Int> = []
        try await eventually("the events arrive, from the process or from its spool") {
            seen = Set(numbers(server, from: before))
            return seen.isSuperset(of: 0..<200)
        }
        #expect(next.statistics.refused == 0)
    }

    /// It once crashed the process: Foundation on Linux cannot cancel a request that ends at the same moment. In a
    /// process of its own, because each provider has open files until its request has ended.
    @Test func `a provider may be released while its request is answered`() async throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let result = try await ProgramResult.run(
            Binaries.directory + "/sdk-application",
            [try options(server).service.absoluteString, "none", "release", "300"])
        #expect(result.status == 0 && result.output == "complete\n", "\(result)")
        #expect(numbers(server).contains(300))
    }

    @Test func `a released provider spools what the service does not take`() async throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        let reports = Reports()
        do {
            let provider = HTTPProvider(try options(server))
            provider.attach(to: reports.handler)
            for number in 0..<10 { provider.record(.numbered(number)) }
        }
        try await eventually("the events are on disk") { !files.isEmpty }
        try await eventually("they are all there") {
            try files.map { try String(contentsOfFile: "\(directory)/\($0)", encoding: .utf8) }.joined()
                .split(separator: "\n").count == 10
        }
        #expect(reports.of(.eventsDropped).isEmpty)
    }

    @Test func `a flush ends at its deadline, with the events of a hanging request on disk`() async throws {
        let server = try ScriptedServer([.hang])
        defer { server.stop() }
        let provider = HTTPProvider(try options(server))
        for number in 0..<10 { provider.record(.numbered(number)) }
        try await eventually("the request is there") { server.requests.count >= 1 }
        #expect(await provider.flush(until: .now + .milliseconds(20)) == .complete)
        #expect(provider.statistics.inMemory == 0 && provider.statistics.spooledBytes > 0)
    }

    @Test func `events for another write key stay where they are`() async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        do {
            let provider = HTTPProvider(try options(server, key: "one"))
            provider.record(.numbered(1))
            #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        }
        server.change(to: [.status(200)])
        let before = server.requests.count
        let other = HTTPProvider(try options(server, key: "two"))
        other.record(.numbered(2))
        #expect(await other.flush(until: .now + .seconds(60)) == .complete)
        try await eventually("the event of the second key is delivered") { other.statistics.delivered == 1 }
        let keys = server.requests.dropFirst(before).filter {
            $0.headers["authorization"] == "Basic " + Data("two:".utf8).base64EncodedString()
        }
        #expect(keys.count == 1 && keys.allSatisfy { !$0.text.contains("\"number\":1,") })
        #expect(!directory.contains("one"))
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(names.allSatisfy { !$0.contains("one") && !$0.contains("two") }, "no name shows a key")
    }

    @Test func `purge discards memory and disk`() async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        let provider = HTTPProvider(try options(server))
        for number in 0..<20 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        #expect(provider.statistics.spooledBytes > 0)
        provider.purge()
        try await eventually("the spool is empty") { provider.statistics.spooledBytes == 0 && files.isEmpty }
        let before = server.requests.count
        server.change(to: [.status(200)])
        provider.record(.numbered(20))
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        try await eventually("the next event is delivered") { numbers(server, from: before).contains(20) }
        let statistics = provider.statistics
        #expect(statistics.inMemory == 0 && statistics.dropped == 0)
    }

    /// Consent is withdrawn while a request is under way, and its events are in memory only, or also in the spool.
    @Test(arguments: [503, 200, 400], [true, false])
    func `purged events of a request that fails are not sent again`(status: Int, isSpooled: Bool) async throws {
        let gate = DispatchSemaphore(value: 0)
        let held = ScriptedServer.Reply.respond { _ in
            gate.wait()
            return .status(status)
        }
        let server = try ScriptedServer([held, .status(200)])
        defer {
            gate.signal()
            server.stop()
        }
        var options = try options(server)
        options.flushInterval = .seconds(3600)
        options.batchEvents = 10
        let provider = HTTPProvider(options)
        let analytics = Analytics(providers: [provider], userID: "u")
        for number in 0..<10 { analytics.track("N", ["number": .int(number)]) }
        try await eventually("the request is there") { server.requests.count == 1 }
        if isSpooled { #expect(await provider.flush(until: .now) == .complete) }
        analytics.withdrawConsent(purging: true)
        #expect(provider.statistics.inMemory == 0)
        // The spool counts bytes, not events.
        let inMemory = isSpooled ? 0 : 10
        #expect(provider.statistics.purged == inMemory)
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete, "nothing is left to wait for")
        try await eventually("the spool is empty") { provider.statistics.spooledBytes == 0 && files.isEmpty }
        gate.signal()
        analytics.consent = .on
        analytics.track("N", ["number": 10])
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        try await eventually("the next event is delivered") {
            provider.statistics.delivered == (status == 200 ? 11 : 1)
        }
        #expect(numbers(server, from: 1) == [10])
        #expect(provider.statistics.purged == (status == 503 ? inMemory : 0))
        #expect(provider.statistics.refused == (status == 400 ? 10 : 0))
        #expect(provider.statistics.dropped == 0 && provider.statistics.inMemory == 0 && files.isEmpty)
    }

    @Test func `a spool that cannot be written is reported, and the events stay in memory`() async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        var options = try options(server)
        options.spool = "/proc/penstock"
        let provider = HTTPProvider(options)
        let reports = Reports()
        provider.attach(to: reports.handler)
        for number in 0..<10 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .milliseconds(50)) == .pending(events: 10))
        try await eventually("the failure is reported") { reports.of(.spoolFailed).count == 1 }
        server.change(to: [.status(200)])
        #expect(await provider.flush(until: .now + .seconds(60)) == .complete)
        #expect(provider.statistics.delivered == 10)
    }

    @Test func `a full spool drops new events only, and counts them`() async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        var options = try options(server)
        options.spoolBytes = 2000
        options.queueEvents = 10
        let provider = HTTPProvider(options)
        for number in 0..<200 {
            provider.record(.numbered(number))
            _ = await provider.flush(until: .now)
        }
        let statistics = provider.statistics
        #expect(statistics.dropped > 0 && statistics.accepted + statistics.dropped == 200)
        #expect(statistics.spooledBytes <= 2000)
        server.change(to: [.status(200)])
        try await eventually("every accepted event is delivered") {
            provider.statistics.delivered == statistics.accepted
        }
        let received = numbers(server)
        #expect(Set(0..<10).isSubset(of: received), "the oldest events are kept")
    }
}
