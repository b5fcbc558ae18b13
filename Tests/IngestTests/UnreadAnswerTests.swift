import Events
import Glibc
import Synchronization
import Testing

@testable import Ingest
@testable import Platform

/// Clients that ask for answers and read them slowly or not at all.
@Suite struct UnreadAnswerTests {
    /// One connection without its event loop. Its kernel buffer holds only a few answers.
    private final class Rig {
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let connection: ClientConnection
        private let client: FileDescriptor
        private let clock = SystemClock()
        private var buffer = [UInt8](repeating: 0, count: ClientConnection.largeRead)

        init(maximumUnread: Int) throws {
            var pair: [Int32] = [0, 0]
            #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
            client = FileDescriptor(owning: pair[0])
            var smallest: Int32 = 1
            unsafe setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &smallest, socklen_t(MemoryLayout<Int32>.size))
            let limits = SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10,
                maximumUnreadAnswers: maximumUnread,
                maximumConsecutiveRefusals: .max)
            let admission = EventAdmission(limits: limits, appender: appender, statistics: statistics, clock: clock)
            let loop = SourceListener.LoopAdmission(admission)
            let activity = ClientActivity(.init(lastByte: clock.now(), isIdle: false))
            connection = ClientConnection(
                id: 1, socket: FileDescriptor(owning: pair[1]), origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3),
                user: 1,
                listener: SourceListener(
                    source: "apps", limits: limits, admission: .everybody, statistics: statistics,
                    notices: LimitNotices(source: "apps", statistics: statistics, telemetry: nil, clock: clock),
                    descriptors: DescriptorReserve(limit: nil, telemetry: nil, clock: clock), clock: clock,
                    eventAdmissions: [loop]),
                loop: loop, activity: activity)
            _ = statistics.withUserConnections { $0.enter(1, user: 1, limit: 10, at: clock.now(), activity: activity) }
            try send(NDJSONStreamTests.acks)
        }

        /// Sends a few bytes and gives the connection a turn.
        @discardableResult
        func send(_ text: String) throws -> ClientConnection.Outcome {
            let bytes = Array(text.utf8)
            let sent = unsafe Glibc.send(client.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            try #require(sent == bytes.count)
            return turn()
        }

        @discardableResult
        func turn() -> ClientConnection.Outcome {
            connection.ready(
                SocketPoll.Readiness(tag: 1, canRead: true, canWrite: true, hasEnded: false, isGone: false))
            return connection.serve(&buffer, at: clock.now(), mayTake: true)
        }

        /// The bytes of unread answers in the kernel.
        var unread: Int {
            var count: Int32 = 0
            unsafe _ = ioctl(client.raw, UInt(FIONREAD), &count)
            return Int(count)
        }

        func read(_ count: Int) -> Int {
            var bytes = [UInt8](repeating: 0, count: count)
            return unsafe max(0, recv(client.raw, &bytes, count, 0))
        }

        func commit() {
            let end = appender.state.withLock { state in
                state.durableEnd = UInt64(state.events.count)
                return state.durableEnd
            }
            connection.durable(upTo: end)
        }

        var held: Int { statistics.withUserConnections { $0.bytes } }
    }

    @Test func `a client that reads no answers is retried when there is room`() throws {
        // One refusal may stay unread. Any further answer is above the limit.
        let probe = NDJSONStreamTests.Client()
        probe.send(NDJSONStreamTests.acks + "x\n")
        let rig = try Rig(maximumUnread: probe.answers().utf8.count + 6)
        var before = -1
        while rig.unread != before {
            before = rig.unread
            try rig.send("x\n")
        }
        // The kernel takes no more answers, so the connection keeps the last one.
        try rig.send(NDJSONStreamTests.event("1") + "\n")
        rig.appender.state.withLock { $0.isBusy = true }
        #expect(try rig.send(NDJSONStreamTests.event("2") + "\n") == .stalled)
        rig.commit()
        #expect(rig.turn() == .stalled, "the acknowledgement of the first event is one answer above the limit")
        rig.appender.state.withLock { $0.isBusy = false }
        #expect(rig.turn() != .stalled, "other clients wait behind this one for room")
        #expect(rig.appender.events == [NDJSONStreamTests.event("1"), NDJSONStreamTests.event("2")])
    }

    @Test func `the memory of read answers is freed although later answers are always unread`() throws {
        let limit = 256 << 10
        let rig = try Rig(maximumUnread: limit)
        let lines = String(repeating: "x\n", count: 100)
        // Sends until the client is not read any more.
        var refused = UInt64.max
        while rig.statistics.snapshot().refused != refused {
            refused = rig.statistics.snapshot().refused
            try rig.send(lines)
        }
        var read = 0
        while read < 8 * limit {
            let got = rig.read(16 << 10)
            try #require(got > 0)
            read += got
            rig.turn()
            if rig.statistics.snapshot().refused != refused {
                refused = rig.statistics.snapshot().refused
                try rig.send(lines)
            }
        }
        #expect(rig.held > limit / 2, "some answers are always unread")
        #expect(rig.held < 4 * limit)
    }
}
