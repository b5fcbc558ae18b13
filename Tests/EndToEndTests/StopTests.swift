import Control
import Foundation
import Platform
import TestSupport
import Testing

/// SIGTERM loses nothing that was sent before it, and the daemon stops within its bound.
@Suite struct StopTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test(arguments: [1, 20]) func `events sent before SIGTERM are delivered`(clients count: Int) throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let clients = try (0..<count).map { _ in try EventClient(daemon, acknowledgements: false) }
        // As much as the kernel takes at once. It is in the sockets when the signal arrives.
        for (index, client) in clients.enumerated() { try client.send(events(index * 500..<index * 500 + 500)) }
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number).sorted() == Array(0..<count * 500))
        #expect(daemon.terminate() == 0)
    }

    @Test func `clients that wait to be accepted are served before the daemon stops`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        // While the daemon is stopped by SIGSTOP, the kernel accepts connections and bytes for it.
        try daemon.suspend()
        // If the kernel takes fewer connections at once, the test fails instead of hanging.
        let connected = Doorbell()
        let process = daemon.processIdentifier
        let bound = WorkerThread(name: "bound") {
            if !connected.wait(until: SystemClock().now() + .seconds(30)) { kill(process, SIGCONT) }
        }
        let clients = try (0..<300).map { index in
            let client = try EventClient(daemon, acknowledgements: false)
            try client.send(event(index) + "\n")
            return client
        }
        connected.ring()
        bound.join()
        daemon.signal(SIGTERM)
        daemon.signal(SIGCONT)
        #expect(daemon.terminate() == 0)
        _ = clients
        try daemon.start()
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number).sorted() == Array(0..<300))
        #expect(daemon.terminate() == 0)
    }

    /// What delays a stop does so every time, until the drain ends after 10 s. A busy machine is slow once.
    private static func isQuick(_ stop: () throws -> Duration) throws -> Bool {
        try (0..<3).contains { _ in try stop() < .seconds(9) }
    }

    @Test func `clients that keep on sending do not delay the stop`() throws {
        let isQuick = try Self.isQuick(stopAmongSenders)
        #expect(isQuick, "it takes about half a second on an idle machine")
    }

    /// Each client sends as fast as the daemon reads, until it is turned away.
    private func stopAmongSenders() throws -> Duration {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let streams = try (0..<3).map { _ in try EventClient(daemon, acknowledgements: false) }
        let senders = streams.map { client in
            WorkerThread(name: "sender") {
                let block = events(0..<100)
                while (try? client.send(block)) != nil {}
            }
        }
        try eventually("events arrive") { try daemon.status().sources["apps"]?.accepted ?? 0 > 10_000 }
        let clock = SystemClock()
        let before = clock.now()
        #expect(daemon.terminate() == 0)
        let time = clock.now() - before
        for sender in senders { sender.join() }
        // All that was accepted is in the journal and reaches the file.
        try daemon.start()
        try daemon.settle()
        let next = try daemon.status().journal.next
        #expect(daemon.lines("archive.ndjson").count == Int(next))
        #expect(daemon.terminate() == 0)
        return time
    }

    @Test func `idle clients and dead destinations do not delay the stop`() throws {
        let isQuick = try Self.isQuick(stopAmongIdleClients)
        #expect(isQuick, "nothing was left to drain")
    }

    private func stopAmongIdleClients() throws -> Duration {
        let gone = try HTTPReceiver()
        gone.server.stop()
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, gone] } ]
                destinations:
                  archive: { file: archive.ndjson }
                  gone: { http: "\(gone.url)", format: ndjson, batch: { wait: 0s }, retry: { initial: 1m, max: 1m } }
                """)
        try daemon.start()
        let idle = try (0..<10).map { _ in try EventClient(daemon, acknowledgements: false) }
        let client = try EventClient(daemon)
        try client.send(events(0..<10))
        #expect(try client.acknowledgement(of: 10).lines == 10)
        try eventually("the destination is retrying") { try daemon.status().destinations["gone"]?.state == .retrying }
        let clock = SystemClock()
        let before = clock.now()
        #expect(daemon.terminate() == 0)
        let time = clock.now() - before
        _ = idle
        #expect(!FileManager.default.fileExists(atPath: daemon.events))
        #expect(!FileManager.default.fileExists(atPath: daemon.control))

        // The events of the dead destination wait in the journal.
        try daemon.start()
        #expect(try daemon.status().destinations["gone"]?.lagEvents == 10)
        #expect(daemon.terminate() == 0)
        return time
    }

    @Test func `a second daemon on the same journal names the reason why it does not start`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let second = try Program.run(TestDaemon.binaries + "/penstockd", ["--config", daemon.configurationFile])
        #expect(second.status == 1)
        #expect(second.errors.contains(daemon.path("journal")), "\(second.errors)")
        #expect(try daemon.status().health == .healthy)
        let client = try EventClient(daemon)
        try client.send(event(1) + "\n")
        #expect(try client.acknowledgement(of: 1).lines == 1)
        #expect(daemon.terminate() == 0)
    }

    @Test func `an invalid configuration ends the start with exit status 78`() throws {
        let daemon = try TestDaemon(configuration: "destinatons: {}")
        let result = try Program.run(TestDaemon.binaries + "/penstockd", ["--config", daemon.configurationFile])
        #expect(result.status == 78)
        #expect(result.errors.contains("destinatons") && result.errors.contains("did you mean"), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: daemon.path("journal")))
    }
}
