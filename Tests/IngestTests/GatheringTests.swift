import Events
import Glibc
import Platform
import Synchronization
import Testing

@testable import Ingest

struct GatheringTests {
    @Test func `the thread waits as long as others come`() {
        var gathering = Gathering()
        for _ in 0..<100 {
            let isDue = gathering.isDue()
            #expect(isDue)
            gathering.note(cameMore: true)
        }
    }

    @Test func `where nobody comes, the next waits are rarer and rarer, up to a bound`() {
        var gathering = Gathering()
        var skipped: [Int] = []
        for _ in 0..<10 {
            var skips = 0
            while !gathering.isDue() { skips += 1 }
            gathering.note(cameMore: false)
            skipped.append(skips)
        }
        #expect(skipped == [0, 1, 3, 7, 15, 31, 63, 127, 255, 255])
        while !gathering.isDue() {}
        gathering.note(cameMore: true)
        let isDue = gathering.isDue()
        #expect(isDue)
    }

    /// A journal that counts the events of each commit.
    private final class CommitRecorder: EventAppender {
        private let recorder = RecordingAppender()
        private let ends = Mutex<[Int]>([])
        /// Whether the thread would wait, for each commit.
        let waits = Mutex<[Bool]>([])
        /// Called once, by the first commit of an event.
        let stall = Mutex<(@Sendable () -> Void)?>(nil)
        private let delay: Duration
        /// The next thread that asks for the delay is held until `goesOn` rings.
        let holds = Atomic<Bool>(false)
        let goesOn = Doorbell()
        private let holding = Atomic<Bool>(false)

        init(commitDelay: Duration) { delay = commitDelay }

        /// Asked for by a thread that is about to wait for more events.
        var commitDelay: Duration {
            guard holds.exchange(false, ordering: .sequentiallyConsistent) else { return .zero }
            holding.store(true, ordering: .sequentiallyConsistent)
            goesOn.wait()
            return delay
        }
        /// Whether a thread is held, or was.
        var isHolding: Bool { holding.load(ordering: .sequentiallyConsistent) }

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            recorder.append(bytes, events: copy events, from: origin, lane: lane)
        }

        func submit(mayWait: Bool) {
            let end = recorder.events.count
            let isNew = ends.withLock { ends in
                guard end > ends.last ?? 0 else { return false }
                ends.append(end)
                return true
            }
            guard isNew else { return }
            waits.withLock { $0.append(mayWait) }
            let stall = stall.withLock { stall in
                defer { stall = nil }
                return stall
            }
            stall?()
        }

        var durableEnd: UInt64 { 0 }
        /// The number of events at the end of each commit.
        var commits: [Int] { ends.withLock { $0 } }
    }

    /// Stands still from the moment in which `recorder` holds a thread. A busy machine may interrupt the round that
    /// follows for longer than a round may take.
    private final class HeldClock: Clock {
        private let recorder: CommitRecorder
        private let heldSince = Mutex<Instant?>(nil)

        init(_ recorder: CommitRecorder) { self.recorder = recorder }

        func now() -> Instant {
            let now = SystemClock().now()
            guard recorder.isHolding else { return now }
            return heldSince.withLock { since in
                since = since ?? now
                return since ?? now
            }
        }

        func wallClock() -> Int64 { SystemClock().wallClock() }
    }

    private func listen(_ ingest: Ingest, at path: String, lineTimeout: Duration = .seconds(60)) throws {
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        try ingest.listen(
            source: "apps", descriptor: .duplicate(of: socket.raw),
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 64 << 10,
                lineTimeout: lineTimeout),
            admission: .everybody, statistics: SourceStatistics())
    }

    private func eventually(_ condition: () -> Bool) -> Bool {
        let end = SystemClock().now() + .seconds(60)
        while !condition(), SystemClock().now() < end { usleep(1000) }
        return condition()
    }

    /// What it has sent meanwhile is read before its time is judged.
    @Test func `a client in the middle of a line does not pay for a stalled disk`() throws {
        let path = "/tmp/penstock-stall-\(getpid()).sock"
        defer { UnixListener.remove(path) }
        let timeout = Duration.seconds(3)
        let appender = CommitRecorder(commitDelay: .zero)
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        try listen(ingest, at: path, lineTimeout: timeout)
        let line = Array((NDJSONStreamTests.event("slow") + "\n").utf8)
        let (slow, other) = (try UnixStream(connectingTo: path), try UnixStream(connectingTo: path))
        let (hasStalled, goesOn) = (Doorbell(), Doorbell())
        appender.stall.withLock {
            $0 = {
                hasStalled.ring()
                goesOn.wait()
            }
        }
        _ = try slow.write(Array(line[..<20]).span)
        _ = try other.write(Array((NDJSONStreamTests.event("other") + "\n").utf8).span)
        #expect(hasStalled.wait(until: SystemClock().now() + .seconds(60)))
        _ = try slow.write(Array(line[20...]).span)
        pause(for: timeout + .milliseconds(200))
        goesOn.ring()
        #expect(eventually { appender.commits.last == 2 })
        // A thread that nobody else needs may wait for the disk.
        let next = Array((NDJSONStreamTests.event("next") + "\n").utf8)
        #expect(eventually { (try? other.write(next.span)) != nil && appender.waits.withLock { $0.contains(true) } })
    }

    private func send(_ number: Int, from client: UnixStream) throws {
        _ = try client.write(Array((NDJSONStreamTests.event("\(number)") + "\n").utf8).span)
    }

    @Test func `events that clients send one after the other share a commit`() throws {
        let path = "/tmp/penstock-gathering-\(getpid()).sock"
        defer { UnixListener.remove(path) }
        let appender = CommitRecorder(commitDelay: .milliseconds(1))
        let ingest = try Ingest(threads: 1, appender: appender, clock: HeldClock(appender))
        defer { ingest.stop() }
        defer { appender.goesOn.ring() }
        try listen(ingest, at: path)
        let clients = try (0..<4).map { _ in try UnixStream(connectingTo: path) }
        // The thread knows all clients, and does not wait yet.
        var sent = 0
        for client in clients {
            try send(sent, from: client)
            sent += 1
            #expect(eventually { appender.commits.last == sent })
        }
        // It waits only where it has slept before.
        appender.holds.store(true, ordering: .sequentiallyConsistent)
        while !appender.isHolding, sent < 100 {
            try send(sent, from: clients[0])
            sent += 1
            #expect(eventually { appender.isHolding || appender.commits.last == sent })
        }
        #expect(appender.commits.last == sent - 1)
        for client in clients.dropFirst() {
            try send(sent, from: client)
            sent += 1
        }
        appender.goesOn.ring()
        #expect(eventually { appender.commits.last == sent })
        #expect(appender.commits == Array((0..<sent).dropFirst().dropLast(3)) + [sent])
    }

    @Test func `without a delay, each event has a commit of its own`() throws {
        let path = "/tmp/penstock-no-gathering-\(getpid()).sock"
        defer { UnixListener.remove(path) }
        let appender = CommitRecorder(commitDelay: .zero)
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        try listen(ingest, at: path)
        let clients = try (0..<4).map { _ in try UnixStream(connectingTo: path) }
        for (number, client) in clients.enumerated() {
            try send(number, from: client)
            #expect(eventually { appender.commits.count == number + 1 })
        }
        #expect(appender.commits == [1, 2, 3, 4])
    }
}
