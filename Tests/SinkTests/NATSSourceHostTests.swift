import Foundation
import PluginHosting
import PluginSources
import PluginTesting
import Synchronization
import Testing

/// The nats source in a process of its own, as the daemon hosts it.
@Suite struct NATSSourceHostTests {
    private static let more = #","subjects":["e.0","e.1","e.2"],"leases":"short","batch":200"#

    private func event(_ number: Int) -> String {
        #"{"type":"track","event":"E","userId":"u\#(number % 3)","messageId":"m\#(number)"}"#
    }

    private func publish(_ numbers: Range<Int>, _ client: NATSClient) throws {
        try client.publish(numbers, to: { "e.\($0 % 3)" }, with: event)
    }

    private func open(_ test: NATSSourceTest, _ journal: HostedSource.Journal = .init()) throws -> HostedSource {
        try HostedSource(
            "nats", try TestCompiler.built("libpenstock-nats.so"), settings: test.settings(Self.more), journal: journal)
    }

    /// Whether the events of each lane came once and in order.
    private func isComplete(_ journal: HostedSource.Journal, _ count: Int) -> Bool {
        (0..<3).allSatisfy { lane in
            journal.events.filter { $0.contains("\"u\(lane)\"") }
                == (0..<count).filter { $0 % 3 == lane }.map(event)
        }
    }

    @Test func `a process that is killed in mid-stream loses and repeats nothing`() throws {
        let test = try NATSSourceTest(subject: "e.*")
        test.client.createBucket("short", seconds: 3)
        let hosted = try open(test)
        for round in 1...4 {
            try publish((round - 1) * 6000..<round * 6000, test.client)
            #expect(pluginEventually { hosted.journal.count > (round - 1) * 6000 + 100 }, "\(hosted.state)")
            try hosted.killProcess()
        }
        #expect(pluginEventually { hosted.journal.count >= 24_000 }, "\(hosted.state)")
        #expect(isComplete(hosted.journal, 24_000))
        #expect(hosted.source.status.restarts >= 4)
        hosted.stop()
        // The leases are released, and the next instance begins at once behind the stored positions.
        try publish(24_000..<24_300, test.client)
        let next = try open(test, hosted.journal)
        #expect(pluginEventually { next.journal.count >= 24_300 }, "\(next.state)")
        #expect(isComplete(next.journal, 24_300))
        #expect(next.source.status.openLanes == 3)
    }

    @Test func `it keeps the contract`() throws {
        try checkContract(program: try TestCompiler.built("penstock-plugin-host"))
    }

    /// See Tests/Plugins/slow_nats_reader.c.
    @Test func `it keeps the contract while the library's reading thread is slow`() throws {
        let directory = try PluginTestDirectory()
        let (status, output) = try TestCompiler.run([
            "clang", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", "\(directory.path)/slow.so",
            TestCompiler.sources.appendingPathComponent("Plugins/slow_nats_reader.c").path,
        ])
        guard status == 0 else { throw TestProblem(description: output) }
        let host = try TestCompiler.built("penstock-plugin-host")
        let script = "#!/bin/sh\nLD_PRELOAD=\(directory.path)/slow.so exec \(host)\n"
        try directory.add("host", Data(script.utf8))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: "\(directory.path)/host")
        try checkContract(program: "\(directory.path)/host")
    }

    private func checkContract(program: String) throws {
        let test = try NATSSourceTest(subject: "e.*")
        test.client.createBucket("short", seconds: 3)
        let isDone = Done()
        // This thread has the client for itself meanwhile.
        nonisolated(unsafe) let client = test.client
        // Each check begins where the one before has acknowledged, so there are new messages for each.
        let thread = Thread {
            var next = 0
            while !isDone.value.withLock({ $0 }) {
                unsafe try? publish(next..<next + 30, client)
                next += 30
                usleep(20_000)
            }
            isDone.ended.signal()
        }
        thread.start()
        defer {
            isDone.value.withLock { $0 = true }
            isDone.ended.wait()
        }
        let run = SourceConformance(
            of: try TestCompiler.built("libpenstock-nats.so"),
            settings: test.settings(#","leases":"short","batch":200"#), deadline: .seconds(20), program: program)
        try run.validateSettings()
        let conforms = run.run { check, verdict in
            if case .passed = verdict { return }
            Issue.record("\(check): \(verdict)")
        }
        #expect(conforms)
    }

    private final class Done: Sendable {
        let value = Mutex(false)
        let ended = DispatchSemaphore(value: 0)
    }
}
