import Events
import Platform
import Synchronization
import Testing

@testable import Ingest

@Suite struct DeduplicationTests {
    private final class FakeClock: Clock {
        let seconds = Atomic<Int64>(1_000_000)
        func now() -> Instant { Instant(nanoseconds: seconds.load(ordering: .relaxed) * 1_000_000_000) }
        func wallClock() -> Int64 { now().nanoseconds }
    }

    private let appender = RecordingAppender()
    private let statistics = SourceStatistics()
    private let clock = FakeClock()
    private let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)

    private func admission() -> EventAdmission {
        EventAdmission(
            limits: SourceLimits(
                maximumEventSize: 1 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 1 << 20),
            appender: appender, statistics: statistics, clock: clock)
    }

    private func turnOn(window: Duration = .seconds(60), memory: Int = 1 << 20) {
        let deduplication = statistics.deduplication
        deduplication.finish(
            deduplication.begin(.init(window: window, memory: memory), at: clock.now()), at: clock.now())
    }

    private func event(_ id: String?) -> String {
        #"{"type":"page","userId":"u"\#(id.map { ",\"messageId\":\"\($0)\"" } ?? "")}"#
    }

    @discardableResult
    private func send(_ events: [String], through admission: EventAdmission) -> AppendOutcome {
        let bytes = Array((events.joined(separator: "\n") + "\n").utf8)
        admission.scan(bytes.span, maximumRefused: .max)
        return admission.append(bytes.span, from: origin)
    }

    @Test func `an event with a known id is not stored again, and is durable when the first one is`() {
        turnOn()
        let admission = admission()
        #expect(send([event("a"), event("b")], through: admission) == .queued(end: 2))
        #expect(send([event("c")], through: admission) == .queued(end: 3))
        #expect(send([event("a"), event("b")], through: admission) == .queued(end: 2))
        #expect(send([event("c"), event("d"), event("a")], through: admission) == .queued(end: 4))
        #expect(appender.events == ["a", "b", "c", "d"].map { event($0) })
        let snapshot = statistics.snapshot()
        #expect(snapshot.accepted == 4)
        #expect(snapshot.duplicates == 4)
    }

    @Test func `ids are compared as decoded text`() {
        turnOn()
        let admission = admission()
        send([event("\\u0061b"), event("ab"), event("AB"), event("a\\/b"), event("a/b")], through: admission)
        #expect(appender.events == ["\\u0061b", "AB", "a\\/b"].map { event($0) })
    }

    @Test func `events without an id, or with an empty one, are never duplicates`() {
        turnOn()
        let admission = admission()
        for _ in 0..<2 { send([event(nil), event(""), event(nil)], through: admission) }
        #expect(appender.events.count == 6)
        #expect(statistics.snapshot().duplicates == 0)
    }

    @Test func `the same id twice in one slice is stored once`() {
        turnOn()
        #expect(send([event("a"), event("b"), event("a"), event("c")], through: admission()) == .queued(end: 3))
        #expect(appender.events == ["a", "b", "c"].map { event($0) })
    }

    @Test func `what the journal does not take is not remembered`() {
        turnOn()
        let admission = admission()
        appender.state.withLock { $0.isBusy = true }
        #expect(send([event("a"), event("a")], through: admission) == .busy)
        let refusal = Refusal(reason: .journalFull, detail: "full")
        appender.state.withLock {
            $0.isBusy = false
            $0.refusal = refusal
        }
        #expect(send([event("a")], through: admission) == .refused(refusal))
        #expect(statistics.snapshot().duplicates == 0)
        appender.state.withLock { $0.refusal = nil }
        #expect(send([event("a"), event("a")], through: admission) == .queued(end: 1))
        #expect(appender.events == [event("a")])
        #expect(statistics.snapshot().duplicates == 1)
    }

    @Test func `after the window an event is stored again`() {
        turnOn(window: .seconds(60))
        let admission = admission()
        send([event("a")], through: admission)
        clock.seconds.add(59, ordering: .relaxed)
        send([event("a")], through: admission)
        #expect(appender.events.count == 1)
        clock.seconds.add(1, ordering: .relaxed)
        send([event("a")], through: admission)
        #expect(appender.events.count == 2)
    }

    @Test func `1 MiB remembers 32,768 ids, and reports that the window is shorter`() throws {
        turnOn()
        let admission = admission()
        for group in 0..<400 { send((0..<100).map { event("\(group * 100 + $0)") }, through: admission) }
        let status = try #require(statistics.deduplication.status(at: clock.now()))
        #expect(status.ids == 32_768)
        #expect(status.capacity == 32_768)
        #expect(status.forgottenEarly == 40_000 - 32_768)
        send([event("39999"), event("\(40_000 - 32_768)")], through: admission)
        #expect(appender.events.count == 40_000)
        send([event("0")], through: admission)
        #expect(appender.events.count == 40_001)
    }

    @Test func `of two connections that send the same ids at once, one stores each`() {
        turnOn()
        let count = 20_000
        let threads = (0..<4).map { number in
            let admission = SourceListener.LoopAdmission(admission())
            return WorkerThread(name: "sender \(number)") {
                for first in stride(from: 0, to: count, by: 10) {
                    send((first..<first + 10).map { event("\($0)") }, through: admission.admission)
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(appender.events.count == count)
        #expect(Set(appender.events).count == count)
        #expect(statistics.snapshot().accepted == UInt64(count))
        #expect(statistics.snapshot().duplicates == UInt64(3 * count))
    }

    /// A reload turns it on while connected clients send. The caller reads the journal in between.
    @Test func `events that arrive while it is turned on are remembered once, and so are those before`() {
        let count = 20_000
        let isSending = Atomic(true)
        let admission = SourceListener.LoopAdmission(admission())
        let sent = Atomic<Int>(0)
        let sender = WorkerThread(name: "sender") {
            while isSending.load(ordering: .relaxed) || sent.load(ordering: .relaxed) < count {
                send([event("\(sent.load(ordering: .relaxed))")], through: admission.admission)
                sent.add(1, ordering: .relaxed)
            }
        }
        while sent.load(ordering: .relaxed) < 1000 {}
        let deduplication = statistics.deduplication
        let history = deduplication.begin(.init(window: .seconds(60), memory: 64 << 20), at: clock.now())
        for (position, event) in appender.events.enumerated() {
            let bytes = Array((event + "\n").utf8)
            var scanned: [ScannedEvent] = []
            var refused: [RefusedLine] = []
            _ = EventScanner(maximumEventSize: 1 << 10, maximumDepth: 9).scan(
                bytes.span, accepted: &scanned, refused: &refused)
            history.add(
                bytes.span.extracting(0..<bytes.count - 1), scanned[0].index, end: UInt64(position + 1), age: .zero,
                at: clock.now())
        }
        deduplication.finish(history, at: clock.now())
        isSending.store(false, ordering: .relaxed)
        sender.join()
        let total = sent.load(ordering: .relaxed)
        #expect(appender.events.count == total)
        #expect(send((0..<total).map { event("\($0)") }, through: admission.admission) == .queued(end: UInt64(total)))
        #expect(appender.events.count == total)
        deduplication.end()
        send([event("0")], through: admission.admission)
        #expect(appender.events.count == total + 1)
    }

    @Test func `events of a lane are never duplicates`() {
        turnOn()
        let admission = admission()
        for _ in 0..<2 {
            let bytes = Array((event("a") + "\n").utf8)
            admission.scan(bytes.span, maximumRefused: .max)
            _ = admission.append(bytes.span, from: origin, lane: LanePosition(lane: "1", position: [1]))
        }
        #expect(appender.events.count == 2)
    }

    @Test func `a client gets the acknowledgement of a duplicate once the first event is durable`() {
        turnOn()
        let (first, second) = (admission(), admission())
        send([event("a")], through: first)
        let stream = NDJSONStream(origin: origin)
        let text = Array((#"{"penstock":{"acks":true}}"# + "\n" + event("a") + "\n").utf8)
        _ = stream.take(text.span, through: second, answerLimit: 1 << 20)
        #expect(stream.awaitedEnd == 1)
        #expect(stream.takeAnswers() == nil)
        stream.durable(upTo: 1)
        #expect(stream.takeAnswers().map { String(decoding: $0, as: UTF8.self) } == "{\"ack\":1}\n")
        // The first one is durable already, so nothing is awaited.
        let more = Array((event("a") + "\n").utf8)
        _ = stream.take(more.span, through: second, answerLimit: 1 << 20)
        #expect(stream.awaitedEnd == nil)
        #expect(stream.takeAnswers().map { String(decoding: $0, as: UTF8.self) } == "{\"ack\":2}\n")
    }
}
