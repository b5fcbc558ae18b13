import Events
import Glibc
import Platform
import Synchronization
import Testing

@testable import Ingest

struct ListenerTests {
    /// A journal whose events are durable at once.
    private final class InstantAppender: EventAppender {
        private let end = Mutex<UInt64>(0)

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            let count = UInt64(events.count)
            return .queued(
                end: end.withLock {
                    $0 += count
                    return $0
                })
        }

        var durableEnd: UInt64 { end.withLock { $0 } }
    }

    /// While the journal has no room, the stream keeps a client's first line, a line cut in two by reads, and a
    /// last line without a line feed. The client sends nothing more that would make the stream try them again.
    @Test(arguments: [false, true])
    func `a line that waits for room is accepted without more input from its client`(endsEarly: Bool) throws {
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
        #expect(
            eventually { appender.state.withLock { $0.offers > 0 } },
            "the line was offered to the journal, which has no room")
        #expect(
            statistics.snapshot().connections == 1,
            "a connection with a waiting line counts, also after its client has closed it")
        appender.state.withLock { $0.isBusy = false }
        ingest.journalHasRoom()
        #expect(eventually { appender.events == [event] })
        client = nil
        #expect(eventually { statistics.snapshot().connections == 0 })
        ingest.stopListening()
    }

    /// Without it, a client with one event waits until the journal has room for a large group of another client.
    @Test func `a few events find room while a large group of another client waits`() throws {
        let path = "/tmp/penstock-light-\(getpid()).sock"
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let appender = RecordingAppender()
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        try ingest.listen(
            source: "apps", descriptor: .duplicate(of: socket.raw),
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 100, maximumUnreadAnswers: 64 << 10),
            admission: .everybody, statistics: SourceStatistics())
        let pause = Doorbell()
        func eventually(_ condition: () -> Bool) -> Bool {
            for _ in 0..<6000 where !condition() { pause.wait(until: SystemClock().now() + .milliseconds(5)) }
            return condition()
        }
        func event(_ name: String) -> String { #"{"type":"track","event":"\#(name)","userId":"u"}"# }
        let (light, heavy) = (try UnixStream(connectingTo: path), try UnixStream(connectingTo: path))
        func send(_ stream: UnixStream, _ names: [String]) throws {
            let bytes = Array(names.map { event($0) + "\n" }.joined().utf8)
            #expect(try stream.write(bytes.span) == bytes.count)
        }
        try send(light, ["first"])
        #expect(eventually { appender.events.count == 1 })
        appender.state.withLock {
            $0.room = 10
            $0.offers = 0
        }
        // The first line of a connection is processed alone.
        try send(heavy, (0...500).map { "heavy \($0)" })
        #expect(eventually { appender.state.withLock { $0.offers >= 2 } }, "the rest was offered, and had no room")
        try send(light, ["second"])
        #expect(eventually { appender.events.last == event("second") })
        appender.state.withLock { $0.room = .max }
        ingest.journalHasRoom()
        #expect(eventually { appender.events.count == 503 })
        #expect(appender.events.last == event("heavy 500"))
        ingest.stopListening()
    }

    /// A reload that changes a source replaces the listener on its socket. A restart under systemd does the same
    /// between two processes. No client that connects during the change may be dropped.
    @Test func `a connection made while the listener is replaced is served`() throws {
        let path = "/tmp/penstock-listener-\(getpid()).sock"
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let appender = InstantAppender()
        // More event loops than processors make the set-up of a connection slow.
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
                        if answer != "{\"ack\":1}\n" {
                            unanswered.withLock { $0.append("\(client)-\(connection): \(answer)") }
                        }
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

    @Test func `a source's socket is closed when listening ends, and its clients continue`() throws {
        let path = "/tmp/penstock-closed-\(getpid()).sock"
        defer { UnixListener.remove(path) }
        let appender = InstantAppender()
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        try ingest.listen(
            source: "apps", descriptor: try UnixListener.listen(at: path, mode: 0o600),
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 64 << 10),
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
        #expect(throws: UnixSocketError.self, "the connection would never be accepted") {
            try UnixStream(connectingTo: path)
        }
        try send(event, isAnswered: "{\"ack\":2}\n")
    }

    @Test func `an event loop without work is asleep, not stuck`() throws {
        let ingest = try Ingest(threads: 2, appender: InstantAppender(), clock: SystemClock())
        defer { ingest.stop() }
        let pause = Doorbell()
        for _ in 0..<6000 where !ingest.heartbeats.allSatisfy({ $0.beat % 2 == 0 }) {
            pause.wait(until: SystemClock().now() + .milliseconds(5))
        }
        #expect(ingest.heartbeats.allSatisfy { $0.beat % 2 == 0 })
    }

    /// Sends one event on its own connection and returns the answer.
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
