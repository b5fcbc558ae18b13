import Foundation
import PenstockTesting
import Testing

@testable import Penstock

/// An application in its own process, which is killed and forked.
@Suite struct ProcessTests {
    private final class Application {
        private let process = Process()
        private let output = Pipe()

        init(_ daemon: LocalDaemon, _ command: String, _ count: Int) throws {
            let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            process.executableURL = URL(
                fileURLWithPath: (runner as NSString).deletingLastPathComponent + "/sdk-application")
            process.arguments = [daemon.socket, daemon.path("spool"), command, String(count)]
            process.standardOutput = output
            try process.run()
        }

        /// The application's next output. Empty: the application has ended.
        func said() -> String { String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) }

        func kill9() {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }

        func end() -> Int32 {
            process.waitUntilExit()
            return process.terminationStatus
        }

        deinit { if process.isRunning { kill9() } }
    }

    @Test(arguments: [true, false])
    func `kill -9 after a flush loses nothing`(isDaemonThere: Bool) throws {
        let daemon = try LocalDaemon(isStarted: isDaemonThere)
        let application = try Application(daemon, "flush", 3000)
        #expect(application.said() == "complete\n")
        application.kill9()
        try daemon.start()
        let next = DaemonProvider(daemon.providerOptions)
        next.record(.numbered(3000))
        // Without a daemon, everything is sent once, by the second process. A daemon that answers late may have taken what
        // the first process has spooled, and gets it again.
        var events: [Int] = []
        try LocalDaemonWait.until {
            events = try daemon.events().compactMap(\.number)
            return events.contains(3000)
        }
        var seen = Set<Int>()
        let first = events.filter { seen.insert($0).inserted }
        #expect(first == Array(0...3000))
        #expect(isDaemonThere || events.count == first.count)
    }

    @Test func `kill -9 without a flush loses only the last events`() throws {
        let daemon = try LocalDaemon(isStarted: false)
        for _ in 0..<3 {
            let application = try Application(daemon, "record", 5000)
            #expect(application.said() == "recorded\n")
            application.kill9()
        }
        try daemon.start()
        let provider = DaemonProvider(daemon.providerOptions)
        provider.record(.numbered(-1))
        var seen: [Int] = []
        try LocalDaemonWait.until {
            seen = try daemon.events().compactMap(\.number)
            return seen.contains(-1)
        }
        // Each run has left its first events, complete and in order, and no half event.
        let lives = seen.dropLast().split { $0 == 0 }
        #expect(lives.allSatisfy { Array($0) == Array(1..<$0.count + 1) })
        #expect(provider.statistics.refused == 0)
    }

    @Test func `many processes share a spool`() throws {
        let daemon = try LocalDaemon(isStarted: false)
        let applications = try (0..<4).map { _ in try Application(daemon, "flush", 500) }
        for application in applications { #expect(application.said() == "complete\n") }
        for application in applications.prefix(2) { application.kill9() }
        try daemon.start()
        let next = DaemonProvider(daemon.providerOptions)
        let events = try daemon.events(waitingFor: 2000).compactMap(\.number)
        #expect(events.count == 2000)
        for number in [0, 1, 250, 499] { #expect(events.count { $0 == number } == 4) }
        #expect(next.statistics.refused == 0)
    }

    @Test(arguments: [true, false])
    func `a forked child has its own queue and connection`(isDaemonThere: Bool) throws {
        let daemon = try LocalDaemon(isStarted: isDaemonThere)
        let application = try Application(daemon, "fork", 2000)
        #expect(application.said() == "child ended with 0\n")
        #expect(application.end() == 0)
        try daemon.start()
        let next = DaemonProvider(daemon.providerOptions)
        let events = try daemon.events(waitingFor: 6000)
        #expect(events.count == 6000, "none repeated, none lost")
        #expect(events.filter { $0.name == "Parent" }.compactMap(\.number) == Array(0..<4000))
        // The child has four threads, each with a quarter of the events.
        let child = events.filter { $0.name == "Child" }.compactMap(\.number)
        for thread in 0..<4 { #expect(child.filter { $0 / 500 == thread } == Array(thread * 500..<thread * 500 + 500)) }
        #expect(next.statistics.dropped == 0)
    }
}

/// Polls until the condition holds, for tests that are not asynchronous.
enum LocalDaemonWait {
    static func until(_ condition: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while try !condition() {
            if ContinuousClock.now > end { throw Failure("waited in vain") }
            usleep(3000)
        }
    }
}
