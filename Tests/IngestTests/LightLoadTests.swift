import Events
import Glibc
import Platform
import Synchronization
import Testing

@testable import Ingest

struct LightLoadTests {
    /// A journal that records its events, which are durable at once.
    private final class InstantRecorder: EventAppender {
        private let recorder = RecordingAppender()
        private let lastThread = Atomic<UInt>(0)
        /// The thread that has appended last.
        var thread: UInt { lastThread.load(ordering: .sequentiallyConsistent) }

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            lastThread.store(pthread_self(), ordering: .sequentiallyConsistent)
            return recorder.append(bytes, events: copy events, from: origin, lane: lane)
        }

        var durableEnd: UInt64 { UInt64(recorder.events.count) }
        var events: [String] { recorder.events }
    }

    private let start = Instant(nanoseconds: 1_000_000_000)

    /// As many of the longest turns as take this time.
    /// - Returns: whether the client may stay after the last one.
    private func use(_ time: Duration, _ user: UInt32, _ load: inout LightLoad, at now: Instant) -> Bool {
        var left = time
        var stays = true
        while left > .zero {
            let turn = min(left, LightLoad.longestTurn)
            stays = load.note(turn, of: .local(user), at: now)
            left -= turn
        }
        return stays
    }

    @Test func `a user's clients may stay until they have used the user's share of a window`() {
        var load = LightLoad()
        let stays = [
            use(LightLoad.userShare, 1, &load, at: start),
            use(.nanoseconds(1), 1, &load, at: start),
            use(.nanoseconds(1), 2, &load, at: start),
            // A window begins with nothing used.
            use(LightLoad.userShare, 1, &load, at: start + LightLoad.window),
        ]
        #expect(stays == [true, false, true, true])
    }

    @Test func `if all users together use too much, those with more than the average leave`() {
        var load = LightLoad()
        var stays: [Bool] = []
        for user in UInt32(1)...6 { stays.append(use(.milliseconds(8), user, &load, at: start)) }
        // The sum exceeds the limit with the second of these, which is below the average.
        for user in UInt32(7)...8 { stays.append(use(.milliseconds(2), user, &load, at: start)) }
        #expect(stays == [Bool](repeating: true, count: 8))
        let after = [1, 7].map { load.note(.microseconds(500), of: .local($0), at: start) }
        #expect(after == [false, true])
    }

    @Test func `a turn that has waited for a processor does not count against its client`() {
        var load = LightLoad()
        var stays: [Bool] = []
        for _ in 0..<10 { stays.append(load.note(.milliseconds(20), of: .local(1), at: start)) }
        #expect(!stays.contains(false))
    }

    @Test func `new clients of a user that has used too much do not begin here for a while`() {
        var load = LightLoad()
        _ = use(LightLoad.userShare, 1, &load, at: start)
        #expect(!load.excludes(.local(1), at: start))
        _ = use(.nanoseconds(1), 1, &load, at: start)
        _ = use(.nanoseconds(1), 2, &load, at: start)
        let end = start + LightLoad.exclusion
        #expect(load.excludes(.local(1), at: start + .milliseconds(999)))
        #expect(!load.excludes(.local(1), at: end))
        #expect(!load.excludes(.local(2), at: start))
        // What is over is forgotten.
        _ = use(.nanoseconds(1), 2, &load, at: end)
        #expect(!load.excludes(.local(1), at: start))
    }

    /// The client sends much, then little until it counts as a light client again, several times.
    @Test func `a client that moves between threads keeps its order, its answers and its limits`() throws {
        let path = "/tmp/penstock-moving-\(getpid()).sock"
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let appender = InstantRecorder()
        let ingest = try Ingest(threads: 2, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        let statistics = SourceStatistics()
        try ingest.listen(
            source: "apps", descriptor: .duplicate(of: socket.raw),
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 64 << 10),
            admission: .everybody, statistics: statistics)
        let client = try UnixStream(connectingTo: path)
        var sent = 0
        var answers = ""
        func send(_ count: Int) throws {
            var bytes: [UInt8] = []
            for _ in 0..<count {
                sent += 1
                bytes += Array((#"{"type":"track","event":"\#(sent)","userId":"u"}"# + "\n").utf8)
            }
            var from = 0
            while from < bytes.count {
                #expect(try client.wait(toWrite: true, timeout: .seconds(60)).canWrite)
                from += try client.write(bytes.span.extracting(from..<bytes.count))
            }
        }
        func readAnswers() throws {
            while !answers.hasSuffix("{\"ack\":\(sent)}\n") {
                guard try client.wait(toWrite: false, timeout: .seconds(60)).canRead else { break }
                answers += String(decoding: try client.read(upTo: 64 << 10), as: UTF8.self)
            }
            #expect(answers.hasSuffix("{\"ack\":\(sent)}\n"))
        }
        let control = Array("{\"penstock\":{\"acks\":true}}\n".utf8)
        #expect(try client.write(control.span) == control.count)
        try send(1)
        try readAnswers()
        let light = appender.thread
        for _ in 0..<3 {
            var rest = 100
            while appender.thread == light, rest > 0 {
                try send(3000)
                try readAnswers()
                rest -= 1
            }
            #expect(appender.thread != light, "it sends much")
            rest = 100 * Conduct.lightTurnsToReturn
            while appender.thread != light, rest > 0 {
                try send(1)
                try readAnswers()
                rest -= 1
            }
            #expect(appender.thread == light, "it sends little")
        }
        #expect(appender.events == (1...sent).map { #"{"type":"track","event":"\#($0)","userId":"u"}"# })
        #expect(statistics.snapshot().connections == 1)
    }
}
