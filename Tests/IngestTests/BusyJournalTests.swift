import Events
import Glibc
import Platform
import Synchronization
import Testing

@testable import Ingest

/// Limits on clients while the journal has no room.
@Suite struct BusyJournalTests {
    /// One event loop that serves a source whose journal is busy.
    private final class Rig {
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let ingest: Ingest
        let path: String
        private let socket: FileDescriptor

        init(_ name: String, connections: Int = 1000, buffered: Int = 64 << 20) throws {
            path = "/tmp/penstock-busy-\(getpid())-\(name).sock"
            socket = try UnixListener.listen(at: path, mode: 0o600)
            ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
            appender.state.withLock { $0.isBusy = true }
            try ingest.listen(
                source: "apps", descriptor: .duplicate(of: socket.raw),
                limits: SourceLimits(
                    maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 1000,
                    maximumUnreadAnswers: 64 << 10,
                    maximumConnectionsPerUser: connections, maximumBuffered: buffered),
                admission: .everybody, statistics: statistics)
        }

        deinit {
            ingest.stop()
            UnixListener.remove(path)
        }

        func connect() throws -> UnixStream { try UnixStream(connectingTo: path) }

        func letIn() {
            appender.state.withLock { $0.isBusy = false }
            ingest.journalHasRoom()
        }

        func eventually(_ condition: () -> Bool) -> Bool {
            let pause = Doorbell()
            for _ in 0..<6000 {
                if condition() { return true }
                pause.wait(until: SystemClock().now() + .milliseconds(5))
            }
            return condition()
        }
    }

    private func event(_ id: String) -> String { NDJSONStreamTests.event(id) + "\n" }

    @Test func `the waiting lines of a disconnected client are refused with the reason`() {
        let client = NDJSONStreamTests.Client()
        client.send(NDJSONStreamTests.acks + event("1"))
        client.appender.state.withLock { $0.isBusy = true }
        let taken = client.send(event("2") + event("3"))
        #expect(taken == 0 && client.stream.isStalled)
        client.stream.end(Refusal(reason: .maximumBuffered, detail: "too much"), through: client.admission)
        #expect(client.stream.hasEnded && !client.stream.isStalled)
        #expect(client.send("") == 0)
        #expect(client.statistics.snapshot().refusedByReason == [.maximumBuffered: 2])
        client.appender.state.withLock { $0.isBusy = false }
        client.commit()
        #expect(client.answers().contains(#""reason":"max_buffered""#))
        #expect(client.appender.events == [NDJSONStreamTests.event("1")])
    }

    @Test func `clients above the buffer limit are closed, and later clients are served when there is room`() throws {
        let rig = try Rig("buffered", buffered: 1 << 20)
        // The unfinished and the whole lines together are larger than the source's limit.
        let text = Array(
            (event("waits") + String(repeating: event("more"), count: 100) + "{" + String(repeating: " ", count: 30_000))
                .utf8)
        let clients = try (0..<200).map { _ in try rig.connect() }
        for client in clients { _ = try client.write(text.span) }
        #expect(rig.eventually { rig.appender.state.withLock { $0.offers > 0 } })
        let sound = try rig.connect()
        _ = try sound.write(Array(event("sound").utf8).span)
        rig.letIn()
        #expect(rig.eventually { rig.appender.events.contains(NDJSONStreamTests.event("sound")) })
        withExtendedLifetime(clients) {}
    }

    @Test func `at a user's limit a connection whose events wait for room is not closed`() throws {
        let rig = try Rig("limit", connections: 3)
        for id in ["1", "2", "3"] {
            let client = try rig.connect()
            _ = try client.write(Array(event(id).utf8).span)
            // The client has sent everything and closes its connection here.
        }
        #expect(
            rig.eventually {
                rig.statistics.snapshot().connections == 3 && rig.appender.state.withLock { $0.offers > 0 }
            })
        // A connection counts as idle after a second.
        let end = SystemClock().now() + UserConnections.idleEnough + .milliseconds(300)
        while SystemClock().now() < end {
            let newcomer = try rig.connect()
            _ = try newcomer.wait(toWrite: false, timeout: .milliseconds(50))
        }
        rig.letIn()
        #expect(
            rig.eventually { Set(rig.appender.events).isSuperset(of: ["1", "2", "3"].map(NDJSONStreamTests.event)) })
    }
}
