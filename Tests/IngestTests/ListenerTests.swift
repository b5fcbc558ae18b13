import Events
import Glibc
import Platform
import Synchronization
import Testing

@testable import Ingest

struct ListenerTests {
    /// A journal whose disk takes no time.
    private final class InstantAppender: EventAppender {
        private let end = Mutex<UInt64>(0)

        func append(_ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin) -> AppendOutcome {
            let count = UInt64(events.count)
            return .queued(
                end: end.withLock {
                    $0 += count
                    return $0
                })
        }

        var durableEnd: UInt64 { end.withLock { $0 } }
    }

    /// A client's first line, a line cut in two by reads, and a last one without a line feed are kept
    /// aside while the journal has no room; nothing else of the client's comes that would bring them up.
    @Test(arguments: [false, true]) func aLineThatWaitedForRoomIsTakenWithoutMoreFromTheClient(endsEarly: Bool) throws {
        let path = "/tmp/penstock-stalled-\(getpid())-\(endsEarly).sock"
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let appender = RecordingAppender()
        appender.state.withLock { $0.isBusy = true }
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        let statistics = SourceStatistics()
        try ingest.listen(
            source: "apps", descriptor: .duplicate(of: socket.raw),
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 100, maximumUnreadAnswers: 64 << 10),
            admission: .everybody, statistics: statistics)
        let event = #"{"type":"track","event":"E","userId":"u"}"#
        var client: UnixStream? = try UnixStream(connectingTo: path)
        let bytes = Array((endsEarly ? event : event + "\n").utf8)
        #expect(try client?.write(bytes.span) == bytes.count)
        if endsEarly { client = nil }
        let pause = Doorbell()
        func eventually(_ condition: () -> Bool) -> Bool {
            for _ in 0..<6000 {
                if condition() { return true }
                pause.wait(until: SystemClock().now() + .milliseconds(5))
            }
            return condition()
        }
        #expect(eventually { appender.state.withLock { $0.offers > 0 } }, "the journal was asked and had no room")
        #expect(statistics.snapshot().connections == 1, "what waits counts, though its client may be gone")
        appender.state.withLock { $0.isBusy = false }
        ingest.journalHasRoom()
        #expect(eventually { appender.events == [event] })
        client = nil
        #expect(eventually { statistics.snapshot().connections == 0 })
        ingest.stopListening()
    }

    /// A reload that changes a source replaces its listener on the same socket, and a restart under
    /// systemd is the same between two processes: no client that connects meanwhile may be dropped.
    @Test func aConnectionThatIsMadeWhileItsListenerIsReplacedIsServed() throws {
        let path = "/tmp/penstock-listener-\(getpid()).sock"
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let appender = InstantAppender()
        // More loops than processors, so that a connection's set-up takes its time.
        let ingest = try Ingest(threads: 4, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        let statistics = SourceStatistics()
        let limits = SourceLimits(
            maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 100, maximumUnreadAnswers: 64 << 10)

        let clients = 4
        let connections = 250
        let unanswered = Mutex<[String]>([])
        let running = Atomic<Int>(clients)
        let threads = (0..<clients).map { client in
            WorkerThread(name: "client \(client)") {
                for connection in 0..<connections {
                    do {
                        let answer = try Self.sendOne(to: path, id: "\(client)-\(connection)")
                        if answer != "{\"ack\":1}\n" { unanswered.withLock { $0.append("\(client)-\(connection): \(answer)") } }
                    } catch {
                        unanswered.withLock { $0.append("\(client)-\(connection): \(error)") }
                    }
                }
                running.subtract(1, ordering: .relaxed)
            }
        }
        repeat {
            try ingest.listen(
                source: "apps", descriptor: .duplicate(of: socket.raw), limits: limits, admission: .everybody,
                statistics: statistics)
        } while running.load(ordering: .relaxed) > 0
        for thread in threads { thread.join() }
        ingest.stopListening()

        #expect(unanswered.withLock { $0 } == [])
        #expect(appender.durableEnd == UInt64(clients * connections))
    }

    @Test func `a source's socket is closed when listening ends, though a client goes on`() throws {
        let path = "/tmp/penstock-closed-\(getpid()).sock"
        defer { UnixListener.remove(path) }
        let appender = InstantAppender()
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        try ingest.listen(
            source: "apps", descriptor: try UnixListener.listen(at: path, mode: 0o600),
            limits: SourceLimits(maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 64 << 10),
            admission: .everybody, statistics: SourceStatistics())
        let client = try UnixStream(connectingTo: path)
        let event = #"{"type":"track","event":"E","userId":"u"}"# + "\n"
        func send(_ text: String, isAnswered answer: String) throws {
            let bytes = Array(text.utf8)
            #expect(try client.write(bytes.span) == bytes.count)
            #expect(try client.wait(toWrite: false, timeout: .seconds(60)).canRead)
            #expect(String(decoding: try client.read(upTo: 1024), as: UTF8.self) == answer)
        }
        try send(#"{"penstock":{"acks":true}}"# + "\n" + event, isAnswered: "{\"ack\":1}\n")
        ingest.stopListening(source: "apps")
        #expect(throws: UnixSocketError.self, "nobody would ever accept it") { try UnixStream(connectingTo: path) }
        try send(event, isAnswered: "{\"ack\":2}\n")
    }

    @Test func `an event loop without work counts as asleep, not as stuck`() throws {
        let ingest = try Ingest(threads: 2, appender: InstantAppender(), clock: SystemClock())
        defer { ingest.stop() }
        let pause = Doorbell()
        for _ in 0..<6000 where !ingest.heartbeats.allSatisfy({ $0.beat % 2 == 0 }) {
            pause.wait(until: SystemClock().now() + .milliseconds(5))
        }
        #expect(ingest.heartbeats.allSatisfy { $0.beat % 2 == 0 })
    }

    /// One connection, one event; what comes back.
    private static func sendOne(to path: String, id: String) throws -> String {
        let stream = try UnixStream(connectingTo: path)
        let text = """
            {"penstock":{"acks":true}}
            {"type":"track","event":"E","userId":"u","messageId":"\(id)"}

            """
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            guard try stream.wait(toWrite: true, timeout: .seconds(60)).canWrite else { return "cannot write" }
            sent += try stream.write(bytes.span.extracting(sent..<bytes.count))
        }
        guard try stream.wait(toWrite: false, timeout: .seconds(60)).canRead else { return "no answer in 60 s" }
        return String(decoding: try stream.read(upTo: 1024), as: UTF8.self)
    }
}
