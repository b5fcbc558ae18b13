import Foundation
import Testing

@testable import Penstock

/// Tests with scripted daemons that do what a real one seldom does.
@Suite struct DaemonConnectionTests {
    @Test func `unacknowledged events are sent again in order`() async throws {
        // The first connection ends after five lines, of which three were acknowledged.
        let daemon = try ScriptedDaemon { _, number, connection in
            if connection > 1 { return .acknowledge }
            return number == 3 ? .acknowledge : number == 5 ? .hangUp : .nothing
        }
        defer { daemon.stop() }
        let provider = DaemonProvider(.test(socket: daemon.socket, spool: nil))
        for number in 1...5 { provider.record(.numbered(number)) }
        #expect(await provider.flush() == .complete)
        #expect(numbers(daemon.lines) == [1, 2, 3, 4, 5, 4, 5])
        #expect(provider.statistics.acknowledged == 5)
    }

    @Test func `a partly sent spool continues after the last acknowledged event`() async throws {
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let daemon = try ScriptedDaemon { _, number, connection in
            if connection > 1 { return .acknowledge }
            return number == 30 ? .acknowledge : number == 50 ? .hangUp : .nothing
        }
        defer { daemon.stop() }
        let options = DaemonProvider.Options.test(socket: daemon.socket, spool: directory)
        // As an earlier process would have left them.
        let socketDirectory = try #require(options.spoolOfSocket)
        let left = try #require(Spool(directory: socketDirectory, maximumBytes: 1 << 20, segmentBytes: 1 << 20))
        for number in 1...50 {
            #expect(left.append(RecordedEvent.numbered(number).json + [10], wasSent: false) == .done)
        }
        left.close()
        let provider = DaemonProvider(options)
        provider.record(.numbered(51))
        try await eventually("all events are acknowledged") {
            provider.statistics.acknowledged == 51 && provider.statistics.spooledBytes == 0
        }
        #expect(numbers(daemon.lines) == Array(1...50) + Array(31...51))
    }

    @Test(arguments: [
        #"{"ack":99}"#, #"{"ack":-1}"#, "HTTP/1.1 400 Bad Request", "[1]", String(repeating: "x", count: 300_000),
    ])
    func `a malformed answer ends the connection and loses nothing`(answer: String) async throws {
        let daemon = try ScriptedDaemon { _, _, connection in connection == 1 ? .say(answer) : .acknowledge }
        defer { daemon.stop() }
        let provider = DaemonProvider(.test(socket: daemon.socket, spool: nil))
        let reports = Reports()
        provider.attach(to: reports.handler)
        provider.record(.numbered(1))
        #expect(await provider.flush() == .complete)
        #expect(numbers(daemon.lines) == [1, 1])
        #expect(reports.of(.unreachable).count == 1)
    }

    @Test func `a refusal is read whatever its text contains`() async throws {
        let daemon = try ScriptedDaemon { _, number, _ in
            number == 1 ? .refuse(reason: "schema_violation") : .acknowledge
        }
        defer { daemon.stop() }
        let provider = DaemonProvider(.test(socket: daemon.socket, spool: nil))
        let reports = Reports()
        provider.attach(to: reports.handler)
        provider.record(.numbered(1))
        #expect(await provider.flush() == .complete)
        #expect(
            reports.of(.eventRefused).map(\.message) == [
                #""N" was refused by the daemon (messageId m): schema_violation: so "it" is"#
            ])
    }

    @Test func `without a daemon and a spool, memory is bounded and dropped events are counted`() async throws {
        var options = DaemonProvider.Options.test(socket: "/tmp/penstock-nobody.sock", spool: nil)
        options.queueEvents = 10
        let provider = DaemonProvider(options)
        let reports = Reports()
        provider.attach(to: reports.handler)
        for number in 0..<15 { provider.record(.numbered(number)) }
        #expect(await provider.flush(until: .now + .milliseconds(20)) == .pending(events: 10))
        #expect(provider.statistics.dropped == 5)
        try await eventually("the drops are reported") { reports.of(.eventsDropped).map(\.events).reduce(0, +) == 5 }
        #expect(reports.of(.unreachable).first?.message.contains("/tmp/penstock-nobody.sock") == true)
    }

    @Test func `the bytes in memory are bounded, too`() {
        var options = DaemonProvider.Options.test(socket: "/tmp/penstock-nobody.sock", spool: nil)
        options.queueBytes = 1000
        let provider = DaemonProvider(options)
        for number in 0..<5 { provider.record(.numbered(number, padding: 300)) }
        #expect(provider.statistics.accepted == 2)
        #expect(provider.statistics.dropped == 3)
    }

    @Test func `events that a silent daemon does not acknowledge are spooled at the deadline`() async throws {
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let daemon = try ScriptedDaemon { _, _, _ in .nothing }
        defer { daemon.stop() }
        let provider = DaemonProvider(.test(socket: daemon.socket, spool: directory))
        for number in 0..<3 { provider.record(.numbered(number)) }
        try await eventually("the events are sent") { daemon.lines.count == 3 }
        #expect(provider.statistics.inMemory == 3)
        #expect(await provider.flush(until: .now + .milliseconds(20)) == .complete)
        #expect(provider.statistics.inMemory == 0)
        #expect(provider.statistics.spooledBytes > 0)
    }

    @Test func `events that a slow daemon does not accept in time are spooled`() async throws {
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let daemon = try ScriptedDaemon { _, _, _ in .nothing }
        defer { daemon.stop() }
        var options = DaemonProvider.Options.test(socket: daemon.socket, spool: directory)
        options.queueBytes = 100_000
        let provider = DaemonProvider(options)
        provider.record(.numbered(0, padding: 500))
        try await eventually("the provider is connected") { daemon.lines.count == 1 }
        for number in 1..<1000 {
            provider.record(.numbered(number, padding: 500))
            try await eventually("there is room") { provider.statistics.inMemory < 100 }
        }
        #expect(provider.statistics.dropped == 0)
        #expect(provider.statistics.spooledBytes > 400_000)
    }

    @Test func `the environment names the daemon's socket and the spool`() {
        #expect(DaemonProvider.Options(environment: ["PENSTOCK_SOCKET": "/run/x.sock"]).socket == "/run/x.sock")
        #expect(DaemonProvider.Options(environment: ["PENSTOCK_SOCKET": ""]).socket == "/run/penstock/events.sock")
        #expect(
            DaemonProvider.Options(environment: ["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"]).spool
                == "/var/lib/a/penstock-spool")
        #expect(DaemonProvider.Options(environment: ["HOME": "/home/ada", "PENSTOCK_SPOOL": "/s"]).spool == "/s")
        #expect(DaemonProvider.Options(environment: [:]).spool == nil)
    }
}
