import Events
import Glibc
import Synchronization
import Testing

@testable import Ingest
@testable import Platform

@Suite struct RateLimiterTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000_000 + milliseconds * 1_000_000)
    }

    @Test func `a burst is allowed, and then the rate`() throws {
        let limiter = RateLimiter(ClientRateLimit(per: .user, eventsPerSecond: 10, burst: 5))
        let key = limiter.key(user: .local(1), connection: 1)
        for _ in 0..<5 {
            #expect(limiter.wait(key, at: at(0)) == nil)
            limiter.spend(key, events: 1, at: at(0))
        }
        // One more may overdraw the bucket; then 100 ms for each event.
        limiter.spend(key, events: 1, at: at(0))
        #expect(limiter.wait(key, at: at(0)) == .milliseconds(100))
        #expect(limiter.wait(key, at: at(99)) == .milliseconds(1))
        #expect(limiter.wait(key, at: at(100)) == nil)
        #expect(limiter.wait(limiter.key(user: .local(2), connection: 1), at: at(0)) == nil, "another user")
    }

    @Test func `in the long run the rate is exact, whatever is taken at once`() {
        let limiter = RateLimiter(ClientRateLimit(per: .user, eventsPerSecond: 1_000, burst: 100))
        let key = limiter.key(user: .local(1), connection: 1)
        var now = at(0)
        var events = 0
        var generator = SystemRandomNumberGenerator()
        while now < at(100_000) {
            if let wait = limiter.wait(key, at: now) {
                now = now + wait
            } else {
                let taken = Int.random(in: 1...400, using: &generator)
                limiter.spend(key, events: taken, at: now)
                events += taken
            }
        }
        #expect((100_000...100_600).contains(events), "\(events) in 100 s")
    }

    @Test(arguments: [ClientRateLimit.Scope.user, .connection, .writeKey])
    func `events are counted together as configured`(_ scope: ClientRateLimit.Scope) {
        let limiter = RateLimiter(ClientRateLimit(per: scope, eventsPerSecond: 1, burst: 1))
        func key(_ user: UInt32, _ connection: UInt64, _ writeKey: String?) -> RateLimiter.Key {
            limiter.key(user: .local(user), connection: connection, writeKey: writeKey.map { Array($0.utf8) })
        }
        limiter.spend(key(1, 1, "a"), events: 2, at: at(0))
        func isLimited(_ user: UInt32, _ connection: UInt64, _ writeKey: String?) -> Bool {
            limiter.wait(key(user, connection, writeKey), at: at(0)) != nil
        }
        #expect(isLimited(1, 2, "b") == (scope == .user))
        #expect(isLimited(2, 1, "b") == (scope == .connection))
        #expect(isLimited(2, 2, "a") == (scope == .writeKey))
        #expect(isLimited(1, 2, nil) == (scope == .user))
    }

    @Test(arguments: [(1, 100_000_000), (100_000_000, 1), (100_000_000, 100_000_000), (1, 1)])
    func `no number overflows`(_ rate: Int, _ burst: Int) {
        let limiter = RateLimiter(ClientRateLimit(per: .user, eventsPerSecond: rate, burst: burst))
        let key = limiter.key(user: .local(1), connection: 1)
        for now in [Instant(nanoseconds: 0), Instant(nanoseconds: .max)] {
            limiter.spend(key, events: .max, at: now)
            _ = limiter.wait(key, at: now)
        }
    }

    @Test func `full buckets are forgotten`() {
        let limiter = RateLimiter(ClientRateLimit(per: .connection, eventsPerSecond: 1_000, burst: 1))
        for number in 0..<10_000 {
            limiter.spend(limiter.key(user: .local(1), connection: UInt64(number)), events: 1, at: at(Int64(number)))
        }
        #expect(limiter.bucketCount < 3_000)
    }

    @Test func `a stream above the rate is read more slowly, and nothing is lost`() throws {
        let path = "/tmp/penstock-rate-\(getpid()).sock"
        let socket = try UnixListener.listen(at: path, mode: 0o600)
        defer { UnixListener.remove(path) }
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let ingest = try Ingest(threads: 1, appender: appender, clock: SystemClock())
        defer { ingest.stop() }
        var limits = SourceLimits(
            maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 64 << 10)
        // Each turn of a new client reads at most 16 KiB, so the bucket is empty after the first.
        limits.rateLimit = ClientRateLimit(per: .user, eventsPerSecond: 2_000, burst: 1)
        try ingest.listen(
            source: "apps", descriptor: .duplicate(of: socket.raw), limits: limits, admission: .everybody,
            statistics: statistics)
        let client = try UnixStream(connectingTo: path)
        let clock = SystemClock()
        let began = clock.now()
        let events = (0..<1_000).map { NDJSONStreamTests.event("\($0)") }
        let lines = Array((events.joined(separator: "\n") + "\n").utf8)
        var sent = 0
        while sent < lines.count { sent += try client.write(lines.span.extracting(sent...)) }
        let deadline = began + .seconds(60)
        let pause = Doorbell()
        while appender.events.count < events.count, clock.now() < deadline {
            pause.wait(until: clock.now() + .milliseconds(5))
        }
        #expect(appender.events == events)
        // What was taken before the last turn was paid for in time.
        #expect(clock.now() - began > .milliseconds(50))
        #expect(statistics.snapshot().limits[.rateLimit]?.count ?? 0 > 0)
    }

    @Test func `a new connection does not escape the limit of its user`() throws {
        let appender = RecordingAppender()
        let statistics = SourceStatistics()
        let clock = SystemClock()
        var limits = SourceLimits(
            maximumEventSize: 32 << 10, maximumDepth: 64, maximumConnections: 10, maximumUnreadAnswers: 1 << 20)
        limits.rateLimit = ClientRateLimit(per: .user, eventsPerSecond: 1, burst: 1)
        let admission = EventAdmission(limits: limits, appender: appender, statistics: statistics, clock: clock)
        let loop = SourceListener.LoopAdmission(admission)
        let listener = SourceListener(
            source: "apps", limits: limits, admission: .everybody, statistics: statistics,
            notices: LimitNotices(source: "apps", statistics: statistics, telemetry: nil, clock: clock),
            descriptors: DescriptorReserve(limit: nil, telemetry: nil, clock: clock),
            limiter: statistics.rateLimiter(limits.rateLimit), clock: clock, eventAdmissions: [loop])
        var buffer = [UInt8](repeating: 0, count: ClientConnection.largeRead)
        let lines = Array((NDJSONStreamTests.event("1") + "\n" + NDJSONStreamTests.event("2") + "\n").utf8)
        for id in UInt64(1)...5 {
            var pair: [Int32] = [0, 0]
            let status = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair)
            try #require(status == 0)
            let client = FileDescriptor(owning: pair[0])
            let connection = ClientConnection(
                id: id, socket: FileDescriptor(owning: pair[1]), origin: Origin(source: "apps", uid: 1, gid: 2, pid: 3),
                user: .local(1), listener: listener, loop: loop,
                activity: ClientActivity(.init(lastByte: clock.now(), isIdle: false)))
            try #require(unsafe send(client.raw, lines, lines.count, Int32(MSG_NOSIGNAL)) == lines.count)
            connection.ready(
                SocketPoll.Readiness(tag: id, canRead: true, canWrite: true, hasEnded: false, isGone: false))
            var outcome = ClientConnection.Outcome.more
            for _ in 0..<10 where outcome == .more {
                outcome = connection.serve(&buffer, at: clock.now(), mayTake: true)
            }
            if case .throttled = outcome { #expect(id > 1) } else { #expect(id == 1, "\(outcome)") }
        }
        #expect(appender.events == [NDJSONStreamTests.event("1"), NDJSONStreamTests.event("2")])
    }
}
