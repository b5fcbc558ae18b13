import Foundation
import PenstockTesting
import Testing

@testable import Penstock

/// The ways in which a process ends: the rows of the table in "Delivery guarantees". Each is tried with real processes.
@Suite struct ExitTests {
    private static let count = 200

    /// Runs the application until it ends.
    /// - Returns: Its output, and how long it took.
    @discardableResult
    private func run(_ daemon: LocalDaemon, _ way: String, spool: String? = nil, count: Int = Self.count) async throws
        -> (result: ProgramResult, time: Duration)
    {
        let begin = ContinuousClock.now
        let result = try await ProgramResult.run(
            Binaries.directory + "/sdk-application",
            [daemon.socket, spool ?? daemon.path("spool"), way, String(count)])
        return (result, .now - begin)
    }

    /// The numbers that arrive at the daemon, from the process and from its spool.
    private func numbers(_ daemon: LocalDaemon, named name: String = "Parent", atLeast count: Int) async throws -> [Int]
    {
        try daemon.start()
        let next = DaemonProvider(daemon.providerOptions)
        var numbers: [Int] = []
        try await eventually("\(count) events of the process arrive") {
            numbers = try daemon.events().filter { $0.name == name }.compactMap(\.number)
            return numbers.count >= count
        }
        #expect(next.statistics.refused == 0)
        return numbers
    }

    static let ordinary = [
        "returning", "exit", "thread", "handler", "interrupt", "source", "released", "late", "busy", "blocking",
        "service",
    ]

    @Test(arguments: ordinary, [true, false])
    func `a process that ends loses no event`(way: String, isDaemonThere: Bool) async throws {
        let daemon = try LocalDaemon(isStarted: isDaemonThere)
        let (result, _) = try await run(daemon, way)
        #expect(result.status == (["exit", "thread", "source"].contains(way) ? 3 : 0), "\(result.errors)")
        if way == "blocking" { #expect(result.output == "complete\n") }
        var seen: Set<Int> = []
        let first = try await numbers(daemon, atLeast: Self.count).filter { seen.insert($0).inserted }
        #expect(first == Array(0..<Self.count))
    }

    @Test(arguments: [true, false])
    func `a forked child that returns from main loses no event`(isDaemonThere: Bool) async throws {
        let daemon = try LocalDaemon(isStarted: isDaemonThere)
        let (result, _) = try await run(daemon, "child")
        #expect(result.status == 0, "\(result.errors)")
        #expect(try await numbers(daemon, named: "Child", atLeast: Self.count) == Array(0..<Self.count))
    }

    /// A process that ends without running handlers loses what is in memory only. What arrives is complete and in order.
    @Test(arguments: ["immediately", "quick", "crash", "terminated", "exec"])
    func `a process that is ended by force loses its last events only`(way: String) async throws {
        let daemon = try LocalDaemon()
        for _ in 0..<3 { try await run(daemon, way, count: 2000) }
        let provider = DaemonProvider(daemon.providerOptions)
        provider.record(.numbered(-1))
        var numbers: [Int] = []
        try await eventually("the last event arrives") {
            numbers = try daemon.events().compactMap(\.number)
            return numbers.contains(-1)
        }
        for life in numbers.filter({ $0 != -1 }).split(separator: 0, omittingEmptySubsequences: true) {
            #expect(Array(life) == Array(1..<life.count + 1))
        }
        #expect(provider.statistics.refused == 0)
    }

    /// The daemon accepts connections and answers nothing.
    @Test func `a daemon that does not answer delays the end by exitTimeout, and the events are spooled`() async throws
    {
        var wereSent = false
        // What a busy machine leaves no time to send is only spooled.
        for _ in 0..<10 where !wereSent {
            let daemon = try LocalDaemon()
            let frozen = try ScriptedDaemon { _, _, _ in .nothing }
            defer { frozen.stop() }
            let begin = ContinuousClock.now
            let result = try await ProgramResult.run(
                Binaries.directory + "/sdk-application",
                [frozen.socket, daemon.path("spool"), "returning", String(Self.count)])
            #expect(result.status == 0)
            #expect(.now - begin >= .milliseconds(250))
            let stores = try FileManager.default.subpathsOfDirectory(atPath: daemon.path("spool"))
            let lines = try stores.filter { $0.hasSuffix(".ndjson") }.sorted().flatMap { file in
                try String(contentsOfFile: daemon.path("spool") + "/" + file, encoding: .utf8).split(separator: "\n")
            }
            #expect(PenstockTests.numbers(lines.map(String.init)) == Array(0..<Self.count))
            let sent = PenstockTests.numbers(frozen.lines)
            #expect(sent == Array(0..<sent.count))
            wereSent = sent.count == Self.count
        }
        #expect(wereSent)
    }

    @Test func `events that cannot be brought to safety are reported`() async throws {
        let daemon = try LocalDaemon(isStarted: false)
        let (result, _) = try await run(daemon, "returning", spool: "none")
        #expect(result.status == 0)
        #expect(
            result.errors.contains("events_dropped: 200 events were lost when the process ended"), "\(result.errors)")
    }

    /// Many processes that end at the same time must not wait for each other.
    @Test(arguments: [("returning", 1), ("pair", 2)])
    func `a process spools its events while another one holds the directory`(way: String, providers: Int) async throws {
        let daemon = try LocalDaemon(isStarted: false)
        func stores() throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: daemon.path("spool")).filter { $0.hasSuffix(".store") }
        }
        try await run(daemon, "returning", count: 1)
        let first = try #require(try stores().first)
        let directory = daemon.path("spool") + "/" + (first as NSString).deletingLastPathComponent
        let file = unsafe open(directory + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        let isHeld = unsafe fcntl(file, F_SETLK, &lock) == 0
        #expect(isHeld)
        let (result, _) = try await run(daemon, way, count: 1)
        #expect(!result.errors.contains("lost"), "\(result.errors)")
        #expect(try stores().count == 1 + providers)
    }

    @Test func `many short processes lose none of their events`() async throws {
        let daemon = try LocalDaemon()
        let processes = 100
        try await withThrowingTaskGroup { group in
            for _ in 0..<processes { group.addTask { _ = try await run(daemon, "returning", count: 1) } }
            try await group.waitForAll()
        }
        // An event that the daemon acknowledges late is spooled, too, and arrives again with the same messageId.
        let next = DaemonProvider(daemon.providerOptions)
        try await eventually("the event of every process arrives") {
            Set(try daemon.events().map(\.messageID)).count >= processes
        }
        #expect(next.statistics.refused == 0)
    }

    @Test func `a blocking flush waits for all providers, and ends at its deadline`() async {
        // Not in a thread of Swift's pool, which a blocking flush needs.
        let outcomes = await withCheckedContinuation { caller in
            Thread.detachNewThread {
                let rig = Rig()
                // Longer than the other tests may keep the pool busy.
                let longest = Duration.seconds(1800)
                var outcomes = [rig.analytics.flushBlocking(timeout: longest)]
                rig.analytics.add(AnalyticsTests.LaggingProvider())
                outcomes.append(rig.analytics.flushBlocking(timeout: longest))
                rig.analytics.add(AnalyticsTests.SlowProvider())
                outcomes.append(rig.analytics.flushBlocking(timeout: .milliseconds(20)))
                caller.resume(returning: outcomes)
            }
        }
        #expect(outcomes.prefix(2) == [.complete, .pending(events: 7)])
        #expect(outcomes.last != .complete)
    }
}
