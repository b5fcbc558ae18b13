import Events
import Glibc
import Synchronization
import Testing

@testable import Ingest
@testable import Platform

/// Clients that ask for answers and do not read them, or read them slowly.
@Suite struct UnreadAnswerTests {
    /// One connection without its loop, whose kernel buffer holds a few answers.
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
                maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: maximumUnread,
                maximumConsecutiveRefusals: .max)
            let door = SourceDoor(limits: limits, appender: appender, statistics: statistics, clock: clock)
            connection = ClientConnection(
                id: 1, socket: FileDescriptor(owning: pair[1]), origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3),
                listener: SourceListener(
                    source: "apps", limits: limits, admission: .everybody, statistics: statistics,
                    notices: LimitNotices(source: "apps", statistics: statistics, telemetry: nil, clock: clock),
                    descriptors: DescriptorReserve(limit: nil, telemetry: nil, clock: clock), clock: clock,
                    doors: [SourceListener.Door(door: door)]),
                door: door, at: clock.now())
            _ = statistics.accounts.withLock { $0.enter(1, user: 1, limit: 10, at: clock.now()) }
            try send(NDJSONStreamTests.acks)
        }

        /// Sends a few bytes, and gives the connection a turn.
        @discardableResult
        func send(_ text: String) throws -> ClientConnection.Outcome {
            let bytes = Array(text.utf8)
            let sent = unsafe Glibc.send(client.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            try #require(sent == bytes.count)
            return turn()
        }

        @discardableResult
        func turn() -> ClientConnection.Outcome {
            connection.ready(SocketPoll.Readiness(tag: 1, canRead: true, canWrite: true, hasEnded: false, isGone: false))
            return connection.serve(&buffer, at: clock.now(), mayTake: true)
        }

        /// Bytes of answers in the kernel.
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

        var held: Int { statistics.accounts.withLock { $0.bytes } }
    }

    @Test func `a client that found no room tries again, though it reads no answers`() throws {
        // One refusal may be left, and any answer behind it is too much.
        let probe = NDJSONStreamTests.Client()
        probe.send(NDJSONStreamTests.acks + "x\n")
        let rig = try Rig(maximumUnread: probe.answers().utf8.count + 6)
        var before = -1
        while rig.unread != before {
            before = rig.unread
            try rig.send("x\n")
        }
        // The kernel takes no more answers: the last one is left.
        try rig.send(NDJSONStreamTests.event("1") + "\n")
        rig.appender.state.withLock { $0.isBusy = true }
        #expect(try rig.send(NDJSONStreamTests.event("2") + "\n") == .stalled)
        rig.commit()
        #expect(rig.turn() == .stalled, "the acknowledgement of the first event is one answer too many")
        rig.appender.state.withLock { $0.isBusy = false }
        #expect(rig.turn() != .stalled, "others wait behind it for room")
        #expect(rig.appender.events == [NDJSONStreamTests.event("1"), NDJSONStreamTests.event("2")])
    }

    @Test func `answers that were read are given up, though others are always left`() throws {
        let limit = 256 << 10
        let rig = try Rig(maximumUnread: limit)
        let lines = String(repeating: "x\n", count: 100)
        // Until the client may not send any more.
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
        #expect(rig.held > limit / 2, "it has always left some unread")
        #expect(rig.held < 4 * limit)
    }
}
