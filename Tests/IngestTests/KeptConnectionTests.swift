import Events
import Glibc
import Synchronization
import Testing

@testable import Ingest
@testable import Platform

/// The turns of a connection that is kept beyond the process, and what it waits for between them.
@Suite struct KeptConnectionTests {
    /// A journal that commits while a connection's turn goes on: at the nth look at what is durable.
    private final class CommittingAppender: EventAppender {
        private struct State {
            var end: UInt64 = 0
            var durable: UInt64 = 0
            var looks = Int.max
        }

        private let state = Mutex(State())

        func append(
            _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
        ) -> AppendOutcome {
            let count = UInt64(events.count)
            return state.withLock {
                $0.end += count
                return .queued(end: $0.end)
            }
        }

        var durableEnd: UInt64 {
            state.withLock {
                if $0.looks <= 0 { $0.durable = $0.end }
                $0.looks -= 1
                return $0.durable
            }
        }

        var events: UInt64 { state.withLock { $0.end } }
        func commit(afterLooks looks: Int) { state.withLock { $0.looks = looks } }
        func commitNoMore() { state.withLock { $0.looks = .max } }
    }

    /// One connection without its event loop.
    private final class Rig {
        let appender = CommittingAppender()
        let statistics = SourceStatistics()
        let connection: ClientConnection
        private let client: FileDescriptor
        private let clock = SystemClock()
        private var buffer = [UInt8](repeating: 0, count: ClientConnection.largeRead)
        private(set) var outcome = ClientConnection.Outcome.waits

        init() throws {
            var pair: [Int32] = [0, 0]
            #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
            client = FileDescriptor(owning: pair[0])
            let socket = FileDescriptor(owning: pair[1])
            let limits = SourceLimits(
                maximumEventSize: 64 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 1 << 20)
            let admission = EventAdmission(limits: limits, appender: appender, statistics: statistics, clock: clock)
            let loop = SourceListener.LoopAdmission(admission)
            let place = try ClientKeeper(journal: (1, 2)).keep(socket, ofSource: 3)
            let slot = try #require(place)
            let activity = ClientActivity(.init(lastByte: clock.now(), isIdle: false))
            connection = ClientConnection(
                id: 1, socket: socket, origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3), user: 1,
                listener: SourceListener(
                    source: "apps", limits: limits, admission: .everybody, statistics: statistics,
                    notices: LimitNotices(source: "apps", statistics: statistics, telemetry: nil, clock: clock),
                    descriptors: DescriptorReserve(limit: nil, telemetry: nil, clock: clock), clock: clock,
                    eventAdmissions: [loop]),
                loop: loop, activity: activity, slot: slot)
            _ = statistics.withUserConnections { $0.enter(1, user: 1, limit: 1, at: clock.now(), activity: activity) }
        }

        func send(_ text: String) throws {
            let bytes = Array(text.utf8)
            var sent = 0
            while sent < bytes.count {
                let rest = bytes.count - sent
                let count = unsafe bytes.withUnsafeBytes {
                    unsafe Glibc.send(client.raw, $0.baseAddress! + sent, rest, Int32(MSG_NOSIGNAL))
                }
                if count > 0 {
                    sent += count
                } else {
                    let before = connection.slot?.record.consumed
                    turnsUntilIdle()
                    try #require(connection.slot?.record.consumed != before, "nothing is read any more")
                }
            }
        }

        /// Turns as its event loop gives them after the kernel's report: until the connection waits.
        @discardableResult
        func turnsUntilIdle() -> Int {
            connection.ready(
                SocketPoll.Readiness(tag: 1, canRead: true, canWrite: true, hasEnded: false, isGone: false))
            var turns = 0
            repeat {
                outcome = connection.serve(&buffer, at: clock.now(), mayTake: true)
                turns += 1
            } while outcome == .more && turns < 10_000
            return turns
        }

        /// A single turn, after the kernel's report.
        func onlyOneTurn(defersLargeBodies: Bool) {
            connection.ready(
                SocketPoll.Readiness(tag: 1, canRead: true, canWrite: true, hasEnded: false, isGone: false))
            outcome = connection.serve(
                &buffer, at: clock.now(), mayTake: true, defersLargeBodies: defersLargeBodies)
        }

        func endInput() { shutdown(client.raw, Int32(SHUT_WR)) }

        /// The answers that the client has received.
        func received() -> String {
            var bytes = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe recv(client.raw, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }

        func commit() {
            appender.commit(afterLooks: 0)
            connection.durable(upTo: appender.durableEnd)
            appender.commitNoMore()
        }
    }

    private static let event = NDJSONStreamTests.event("1")

    /// A group of lines makes an entry of the connection's record, and the record has room for a few.
    private static func fill(_ rig: Rig) throws {
        for _ in 0..<ClientRecord.entries {
            try rig.send(event + "\n")
            rig.turnsUntilIdle()
        }
        try #require(rig.appender.events < UInt64(ClientRecord.entries))
        try #require(rig.outcome == .waits && rig.connection.awaitedEnd != nil)
    }

    @Test(arguments: 0..<12)
    func `a commit during a turn leaves no line behind that nothing waits for`(_ looks: Int) throws {
        let rig = try Rig()
        try Self.fill(rig)
        rig.appender.commit(afterLooks: looks)
        rig.turnsUntilIdle()
        if rig.connection.awaitedEnd == nil { #expect(rig.appender.events == UInt64(ClientRecord.entries)) }
    }

    @Test(arguments: 0..<24)
    func `a commit during a turn leaves no request behind that nothing waits for`(_ looks: Int) throws {
        let rig = try Rig()
        let padding = String(repeating: "x", count: 33 << 10)
        let event = #"{"type":"track","event":"E","userId":"u","properties":{"padding":"\#(padding)"}}"#
        func request(_ count: Int) -> String {
            let body = #"{"batch":[\#(Array(repeating: event, count: count).joined(separator: ","))]}"#
            return "POST /v1/batch HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        // Its ring grows for the first one, and then holds all others.
        try rig.send(request(12))
        rig.turnsUntilIdle()
        rig.commit()
        rig.turnsUntilIdle()
        for _ in 0..<7 { try rig.send(request(4)) }
        rig.turnsUntilIdle()
        try #require(rig.appender.events == 12 + 27, "the last event waits until earlier ones are durable")
        #expect(rig.outcome == .waits, "other clients do not wait for it: the journal has room")
        try #require(rig.connection.awaitedEnd != nil)
        rig.appender.commit(afterLooks: looks)
        rig.turnsUntilIdle()
        if rig.appender.events < 12 + 28 { #expect(rig.connection.awaitedEnd != nil) }
        rig.commit()
        rig.turnsUntilIdle()
        #expect(rig.appender.events == 12 + 28)
    }

    @Test func `a connection that must leave waits until its events are durable, and is closed then`() throws {
        let rig = try Rig()
        try rig.send(Self.event + "\n")
        rig.turnsUntilIdle()
        #expect(rig.connection.awaitedEnd == nil, "it expects no answer")
        rig.connection.leave()
        rig.turnsUntilIdle()
        #expect(rig.outcome == .waits && rig.connection.awaitedEnd == 1)
        rig.commit()
        rig.turnsUntilIdle()
        #expect(rig.outcome == .closed)
    }

    @Test func `a connection that ends because of a limit is closed once its events are durable`() throws {
        let rig = try Rig()
        try rig.send(Self.event + "\n")
        rig.turnsUntilIdle()
        rig.connection.end(.lineTimeout, .lineTimeout, "too late", at: SystemClock().now())
        rig.turnsUntilIdle()
        #expect(rig.outcome == .waits && rig.connection.awaitedEnd == 1)
        rig.commit()
        rig.turnsUntilIdle()
        #expect(rig.outcome == .closed)
    }

    @Test func `a client that was silent for a while may be replaced, although no commit gives it a turn`() throws {
        let rig = try Rig()
        try rig.send(Self.event + "\n")
        rig.turnsUntilIdle()
        let later = SystemClock().now() + .seconds(60)
        let decision = rig.statistics.withUserConnections { $0.enter(2, user: 1, limit: 1, at: later) }
        #expect(decision == .replacing(1))
    }

    @Test(arguments: [false, true])
    func `a large request is stored and answered in the turn after its last byte`(_ endsInput: Bool) throws {
        let rig = try Rig()
        try rig.send(TurnTests.large)
        if endsInput { rig.endInput() }
        rig.onlyOneTurn(defersLargeBodies: true)
        while !rig.connection.stream.hasDeferred, rig.outcome == .more { rig.onlyOneTurn(defersLargeBodies: true) }
        #expect(rig.outcome == .more && rig.appender.events == 0)
        #expect(rig.connection.conduct.sendsMuch, "it moves to another loop")
        #expect(!rig.connection.isFinished)
        rig.onlyOneTurn(defersLargeBodies: false)
        #expect(rig.appender.events == 300)
        rig.commit()
        rig.turnsUntilIdle()
        #expect(rig.received().hasPrefix("HTTP/1.1 200"))
        #expect(rig.outcome == (endsInput ? .closed : .waits))
    }
}
