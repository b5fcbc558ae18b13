import Foundation
import PenstockTesting
import TestSupport
import Testing

@testable import Penstock
@testable import PenstockHTTP

/// No value of an option crashes the application.
@Suite struct OptionBoundsTests {
    static let numbers = [Int.min, -1, 0, 1, Int.max]
    static let durations: [Duration] = [
        Duration(secondsComponent: .min, attosecondsComponent: 0), .seconds(-1), .zero, .nanoseconds(1),
        .seconds(10_000_000_000),
        // Its milliseconds are just beyond 64 bits.
        .seconds(9_223_372_036_854_775) + .milliseconds(900),
        Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
    ]

    private func options(_ number: Int, _ duration: Duration, _ server: ScriptedServer) throws -> HTTPProvider.Options {
        var options = HTTPProvider.Options(
            service: try #require(URL(string: "http://127.0.0.1:\(server.port)")), writeKey: "key")
        options.flushInterval = duration
        options.retryDelay = min(duration, .zero)...max(duration, .zero)
        options.timeout = duration
        options.batchEvents = number
        options.batchBytes = number
        options.eventBytes = number
        options.queueEvents = number
        options.queueBytes = number
        options.spool = nil
        return options
    }

    @Test(arguments: numbers, durations)
    func `an HTTP provider accepts options of every size`(number: Int, duration: Duration) async throws {
        let server = try ScriptedServer([.status(200)])
        defer { server.stop() }
        let provider = HTTPProvider(try options(number, duration, server))
        for number in 0..<3 { provider.record(.numbered(number)) }
        // With a very long interval, the flush still returns at its deadline or before.
        _ = await provider.flush(until: .now + .milliseconds(20))
        #expect(provider.statistics.accepted + provider.statistics.dropped == 3)
        #expect((number == .max) == (provider.statistics.dropped == 0))
    }

    @Test(arguments: numbers, durations)
    func `an HTTP provider with a spool accepts options of every size`(number: Int, duration: Duration) async throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        var options = try options(number, duration, server)
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        options.spool = directory
        options.spoolBytes = number
        options.spoolSegmentBytes = number
        options.adoptionInterval = duration
        options.closingTimeout = .zero
        let provider = HTTPProvider(options)
        for number in 0..<3 { provider.record(.numbered(number)) }
        _ = await provider.flush(until: .now + .milliseconds(20))
        #expect(provider.statistics.accepted + provider.statistics.dropped == 3)
        #expect(provider.statistics.spooledBytes > 0 || number != .max)
    }

    @Test(arguments: numbers, durations)
    func `a daemon provider accepts options of every size`(number: Int, duration: Duration) async {
        var options = DaemonProvider.Options(environment: ["PENSTOCK_SOCKET": "/tmp/penstock-nobody.sock"])
        options.spool = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        let directory = options.spool
        defer { if let directory { try? FileManager.default.removeItem(atPath: directory) } }
        options.spoolBytes = number
        options.spoolSegmentBytes = number
        options.queueEvents = number
        options.queueBytes = number
        options.reconnectDelay = min(duration, .zero)...max(duration, .zero)
        options.lingerTime = duration
        options.adoptionInterval = duration
        options.closingTimeout = duration
        let provider = DaemonProvider(options)
        for number in 0..<3 { provider.record(.numbered(number)) }
        _ = await provider.flush(until: .now + .milliseconds(20))
        #expect(provider.statistics.accepted + provider.statistics.dropped == 3)
    }

    @Test(arguments: durations) func `a flush accepts a timeout of every size`(timeout: Duration) async {
        let outcome = await Flush(of: [QuickProvider()], timeout: timeout).outcome()
        #expect(outcome == .complete)
    }

    @Test(arguments: durations, durations) func `a retry delay accepts bounds of every size`(a: Duration, b: Duration) {
        var backoff = Backoff(min(a, b)...max(a, b))
        var random = SystemRandomNumberGenerator()
        for _ in 0..<100 { #expect(.milliseconds(1) ... .seconds(365 * 86_400) ~= backoff.fail(using: &random)) }
    }

    @Test func `a retry delay grows from zero`() {
        var backoff = Backoff(.zero ... .seconds(60))
        var random = SystemRandomNumberGenerator()
        let delays = (0..<100).map { _ in backoff.fail(using: &random) }
        #expect(delays.contains { $0 > .seconds(10) })
    }
}

private struct QuickProvider: AnalyticsProvider {
    func record(_ event: RecordedEvent) {}
    func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome { .complete }
}
