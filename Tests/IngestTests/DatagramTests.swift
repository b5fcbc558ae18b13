import Events
import Glibc
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Ingest

@Suite struct DatagramTests {
    private static func event(_ number: Int, _ fields: String = "") -> String {
        #"{"type":"page","userId":"u","messageId":"m\#(number)"\#(fields)}"#
    }

    /// A source with a datagram socket, and a journal that records its events.
    private final class Rig {
        let path: String
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let ingest: Ingest
        let socket: Platform.FileDescriptor
        private static let last = Atomic<Int>(0)

        init(
            maximumEventSize: Int = 32 << 10, admission: Admission = .everybody, rateLimit: ClientRateLimit? = nil,
            telemetry: Telemetry? = nil
        ) throws {
            path = "/tmp/penstock-dgram-\(getpid())-\(Self.last.add(1, ordering: .relaxed).newValue)"
            socket = try DatagramSocket.bind(at: path, mode: 0o600)
            ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock(), telemetry: telemetry)
            try serve(maximumEventSize: maximumEventSize, admission: admission, rateLimit: rateLimit)
        }

        func serve(
            maximumEventSize: Int = 32 << 10, admission: Admission = .everybody, rateLimit: ClientRateLimit? = nil
        ) throws {
            ingest.datagrams.serve(
                try ingest.datagrams.prepare(
                    source: "apps", descriptor: .duplicate(of: socket.raw), path: path,
                    limits: SourceLimits(
                        maximumEventSize: maximumEventSize, maximumDepth: 64, maximumConnections: 1,
                        maximumUnreadAnswers: 1 << 20, rateLimit: rateLimit), admission: admission,
                    statistics: statistics))
        }

        private let hasStopped = Atomic<Bool>(false)

        func stop() {
            guard !hasStopped.exchange(true, ordering: .relaxed) else { return }
            ingest.stop()
        }

        deinit {
            stop()
            UnixListener.remove(path)
        }

        func send(_ text: String) throws { try send(Array(text.utf8)) }

        /// Waits while the kernel's queue is full.
        func send(_ bytes: [UInt8]) throws {
            let client = try DatagramSocket.connect(to: path)
            // An empty datagram also counts as sent.
            while case .bytes(0) = client.transmit(bytes.span), !bytes.isEmpty { usleep(100) }
        }

        func eventually(_ condition: () -> Bool) -> Bool {
            let deadline = SystemClock().now() + .seconds(60)
            while SystemClock().now() < deadline {
                if condition() { return true }
                usleep(1000)
            }
            return condition()
        }
    }

    @Test func `a datagram is stored as one line, and line feeds between tokens become spaces`() throws {
        let rig = try Rig()
        try rig.send(" \n{\"type\":\"page\",\r\n  \"userId\":\"u\"\n}\n\n")
        try rig.send(#"{"type":"page","userId":"a\\\"\n{"}"#)
        #expect(rig.eventually { rig.appender.events.count == 2 })
        #expect(
            rig.appender.events == [
                "{\"type\":\"page\",\r   \"userId\":\"u\" }", #"{"type":"page","userId":"a\\\"\n{"}"#,
            ])
    }

    @Test func `what is not one event is refused, and says why`() throws {
        let rig = try Rig()
        try rig.send(Self.event(1) + "\n" + Self.event(2))
        try rig.send("{\"type\":\"page\",\"userId\":\"line\nfeed\"}")
        try rig.send("nonsense")
        try rig.send([0xFF, 0xFE])
        try rig.send("")
        try rig.send(" \n ")
        try rig.send(Self.event(3))
        #expect(rig.eventually { rig.appender.events.count == 1 })
        #expect(rig.appender.events == [Self.event(3)])
        // They are counted after the events of the same turn are stored.
        #expect(rig.eventually { rig.statistics.snapshot().refusedByReason == [.invalidJSON: 3, .invalidUTF8: 1] })
        let snapshot = rig.statistics.snapshot()
        try #require(snapshot.recent.count > 1)
        #expect(snapshot.recent[0].refusal.detail.contains("send each event as a datagram of its own"))
        #expect(snapshot.recent[1].refusal.detail.contains("control character"))
    }

    @Test func `a datagram above max_event_size is refused, and white space around an event does not count`() throws {
        let rig = try Rig(maximumEventSize: 200)
        let space = String(repeating: " ", count: 900)
        try rig.send(Self.event(1, ",\"x\":\"" + String(repeating: "y", count: 200) + "\""))
        try rig.send(String(repeating: "z", count: 100_000))
        try rig.send(space + Self.event(2))
        #expect(rig.eventually { rig.appender.events.count == 1 })
        #expect(rig.appender.events == [Self.event(2)])
        #expect(rig.eventually { rig.statistics.snapshot().refusedByReason == [.tooLarge: 2] })
    }

    @Test func `the origin of an event is the process that sent it`() throws {
        let origins = Mutex<[Origin]>([])
        final class Recorder: EventAppender {
            let note: @Sendable (Origin, Int) -> Void
            init(_ note: @escaping @Sendable (Origin, Int) -> Void) { self.note = note }
            func append(
                _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
            ) -> AppendOutcome {
                note(origin, events.count)
                return .queued(end: 1)
            }
            var durableEnd: UInt64 { 1 }
        }
        let path = "/tmp/penstock-dgram-\(getpid())-origin"
        let socket = try DatagramSocket.bind(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let client = try DatagramSocket.connect(to: path)
        for number in 0..<3 { _ = client.transmit(Array(Self.event(number).utf8).span) }
        let events = EventAdmission(
            limits: SourceLimits(
                maximumEventSize: 1 << 10, maximumDepth: 9, maximumConnections: 1, maximumUnreadAnswers: 1 << 20),
            appender: Recorder { origin, count in
                origins.withLock { $0 += Array(repeating: origin, count: 1) }
                #expect(count == 3)
            }, statistics: SourceStatistics(), clock: SystemClock())
        let listener = DatagramListener(
            source: "apps", socket: try .duplicate(of: socket.raw), admission: .everybody, events: events, limiter: nil,
            notices: LimitNotices(
                source: "apps", statistics: SourceStatistics(), telemetry: nil, clock: SystemClock()),
            telemetry: nil)
        _ = listener.turn()
        #expect(
            origins.withLock { $0 } == [Origin(source: "apps", uid: geteuid(), gid: getegid(), pid: getpid())],
            "consecutive datagrams of one sender are one append")
    }

    @Test func `allow applies to each sender`() throws {
        let rig = try Rig(admission: Admission(users: [4_000_000], groups: []))
        try rig.send(Self.event(1))
        #expect(rig.eventually { rig.statistics.snapshot().refusedByReason == [.notAllowed: 1] })
        try rig.serve(admission: Admission(users: [], groups: [4_000_000], members: [geteuid()]))
        try rig.send(Self.event(2))
        #expect(rig.eventually { rig.appender.events == [Self.event(2)] })
    }

    @Test func `while the journal is busy nothing is dropped, and senders wait`() throws {
        let rig = try Rig()
        rig.appender.state.withLock { $0.isBusy = true }
        let client = try DatagramSocket.connect(to: rig.path)
        var sent = 0
        // The first ones wait in the daemon, and then the kernel's queue is full.
        let deadline = SystemClock().now() + .seconds(30)
        var fullSince: Instant?
        while SystemClock().now() < deadline {
            if case .bytes(let count) = client.transmit(Array(Self.event(sent).utf8).span), count > 0 {
                sent += 1
                fullSince = nil
            } else if let since = fullSince {
                if SystemClock().now() - since > .milliseconds(300) { break }
                usleep(1000)
            } else {
                fullSince = SystemClock().now()
            }
        }
        #expect(sent > 0 && sent < 5000, "the kernel's queue is bounded")
        #expect(rig.appender.events.isEmpty)
        rig.appender.state.withLock { $0.isBusy = false }
        rig.ingest.journalHasRoom()
        #expect(rig.eventually { rig.appender.events.count == sent })
        #expect(rig.appender.events == (0..<sent).map { Self.event($0) })
    }

    @Test func `what the journal refuses is counted as refused, and later datagrams are stored`() throws {
        let rig = try Rig()
        rig.appender.state.withLock { $0.refusal = Refusal(reason: .journalFull, detail: "full") }
        for number in 0..<5 { try rig.send(Self.event(number)) }
        #expect(rig.eventually { rig.statistics.snapshot().refusedByReason == [.journalFull: 5] })
        rig.appender.state.withLock { $0.refusal = nil }
        try rig.send(Self.event(5))
        #expect(rig.eventually { rig.appender.events == [Self.event(5)] })
    }

    @Test func `100,000 datagrams of many senders arrive once each, also while the listener is replaced`() throws {
        let rig = try Rig()
        let (senders, each) = (8, 12_500)
        let path = rig.path
        let threads = (0..<senders).map { sender in
            WorkerThread(name: "sender \(sender)") {
                guard let client = try? DatagramSocket.connect(to: path) else { return }
                for number in 0..<each {
                    let bytes = Array(Self.event(sender * each + number).utf8)
                    while case .bytes(0) = client.transmit(bytes.span) { usleep(50) }
                }
            }
        }
        for _ in 0..<20 {
            usleep(5000)
            try rig.serve()
        }
        for thread in threads { thread.join() }
        #expect(rig.eventually { rig.appender.state.withLock { $0.events.count } == senders * each })
        #expect(Set(rig.appender.events).count == senders * each)
    }

    @Test func `a removed socket is read to its end before it is closed`() throws {
        let rig = try Rig()
        rig.appender.state.withLock { $0.isBusy = true }
        let client = try DatagramSocket.connect(to: rig.path)
        var sent = 0
        while sent < 8, case .bytes(let count) = client.transmit(Array(Self.event(sent).utf8).span), count > 0 {
            sent += 1
        }
        rig.appender.state.withLock { $0.isBusy = false }
        rig.ingest.journalHasRoom()
        rig.ingest.stopListening(source: "apps.datagram")
        #expect(rig.appender.events.count == sent)
        #expect(client.transmit(Array(Self.event(99).utf8).span) == .gone, "a sender is told that nobody reads")
    }

    @Test func `the datagrams of a user above rate_limit are refused, and those of other users are not`() throws {
        let limit = ClientRateLimit(per: .user, eventsPerSecond: 1, burst: 10)
        let rig = try Rig(rateLimit: limit)
        let limiter = try #require(rig.statistics.rateLimiter(limit))
        limiter.spend(.user(.local(geteuid() &+ 1)), events: 1_000_000, at: SystemClock().now())
        for number in 0..<100 { try rig.send(Self.event(number)) }
        #expect(
            rig.eventually {
                rig.appender.events.count + Int(rig.statistics.snapshot().refusedByReason[.rateLimited] ?? 0) == 100
            })
        // A bucket may be overdrawn by one event, and gets one in each second.
        #expect((10...30).contains(rig.appender.events.count), "\(rig.appender.events.count)")
        #expect(rig.appender.events.starts(with: (0..<10).map { Self.event($0) }))
        let snapshot = rig.statistics.snapshot()
        #expect(snapshot.recent.last?.refusal.detail.contains("send datagrams more slowly") == true)
        #expect(rig.eventually { rig.statistics.snapshot().limits[.rateLimit]?.count ?? 0 > 0 })
    }

    @Test(arguments: [ClientRateLimit.Scope.user, .connection, .writeKey])
    func `the datagrams and streams of a user are counted together, unless each connection has its own limit`(
        _ scope: ClientRateLimit.Scope
    ) throws {
        let limit = ClientRateLimit(per: scope, eventsPerSecond: 1, burst: 10)
        let rig = try Rig(rateLimit: limit)
        let limiter = try #require(rig.statistics.rateLimiter(limit))
        let stream = limiter.key(user: .local(geteuid()), connection: 1)
        limiter.spend(stream, events: 1_000_000, at: SystemClock().now())
        // A reload that keeps the limit keeps what was spent.
        try rig.serve(rateLimit: limit)
        try rig.send(Self.event(1))
        if scope == .connection {
            #expect(rig.eventually { rig.appender.events == [Self.event(1)] })
        } else {
            #expect(rig.eventually { rig.statistics.snapshot().refusedByReason == [.rateLimited: 1] })
        }
        try rig.serve()
        try rig.send(Self.event(2))
        #expect(rig.eventually { rig.appender.events.last == Self.event(2) })
    }

    /// The daemon ends the sockets that it made. One of systemd stays open, and its messages wait.
    @Test(arguments: [false, true])
    func `what the journal has no room for at a stop is counted as refused, and logged`(endsSocket: Bool) throws {
        final class Entries: LogSink {
            let entries = Mutex<[LogEntry]>([])
            func write(_ level: Level, _ line: String) {}
            func write(_ entry: LogEntry) { entries.withLock { $0.append(entry) } }
        }
        let log = Entries()
        let telemetry = Telemetry(sink: log, now: { 0 })
        let rig = try Rig(telemetry: telemetry)
        rig.appender.state.withLock { $0.isBusy = true }
        let client = try DatagramSocket.connect(to: rig.path)
        func send(_ number: Int) -> Bool {
            if case .bytes(let count) = client.transmit(Array(Self.event(number).utf8).span) {
                count > 0
            } else {
                false
            }
        }
        #expect(send(0))
        #expect(rig.eventually { rig.appender.state.withLock { $0.offers > 0 } }, "the first waits for the journal")
        var sent = 1
        while sent < 6, send(sent) { sent += 1 }
        if endsSocket { rig.ingest.stopListening(source: "apps.datagram") }
        rig.stop()
        let lost = endsSocket ? sent : 1
        #expect(rig.appender.events.isEmpty)
        #expect(rig.statistics.snapshot().refusedByReason == [.journalFull: UInt64(lost)])
        telemetry.finish()
        let entries = log.entries.withLock { $0 }
        let counts = entries.map { Int($0.fields.first { $0.name == .count }?.value ?? "") ?? 0 }
        #expect(counts.reduce(0, +) == lost, "\(entries)")
        #expect(entries.count <= 2, "one line, and one for the rest")
        #expect(entries.allSatisfy { $0.message.contains("lost (journal_full)") })
    }
}
