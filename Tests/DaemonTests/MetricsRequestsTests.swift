import Control
import Foundation
import NIOCore
import NIOPosix
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Daemon

/// The paths of the metrics listener.
@Suite struct MetricsRequestsTests {
    private final class Rig {
        let server: ControlServer
        private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

        init(_ change: (inout MetricsReport) -> Void = { _ in }) throws {
            let shared = Shared()
            shared.report.withLock { change(&$0) }
            let requests = MetricsRequests(clock: shared.clock) {
                shared.made.add(1, ordering: .relaxed)
                return shared.report.withLock { $0 }
            }
            self.shared = shared
            server = try ControlServer.open(
                address: try #require(SocketAddress("127.0.0.1:0")), handler: requests, group: group)
            server.serve()
        }

        deinit {
            server.stop()
            try? group.syncShutdownGracefully()
        }

        let shared: Shared

        final class Shared: Sendable {
            let report = Mutex(MetricsReportTests.full())
            let made = Atomic(0)
            let clock = SteppedClock()
        }

        /// The status and the body that curl gets.
        func get(_ path: String, _ arguments: String...) throws -> (status: String, body: String) {
            let address = try #require(server.localAddress)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments =
                ["curl", "-sS", "--noproxy", "*", "--max-time", "30", "-w", "%{http_code}"] + arguments
                + ["http://\(address)\(path)"]
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            process.waitUntilExit()
            return (String(output.suffix(3)), String(output.dropLast(3)))
        }
    }

    final class SteppedClock: Clock {
        private let time = Atomic<Int64>(1_000_000_000)
        func now() -> Instant { Instant(nanoseconds: time.load(ordering: .relaxed)) }
        func wallClock() -> Int64 { 0 }
        func advance(_ duration: Duration) { time.add(duration.inNanoseconds, ordering: .relaxed) }
    }

    @Test func `health is 200 while the daemon is degraded, and 503 while a thread is stuck`() throws {
        let degraded = try Rig { $0.stuckThreads = 0 }
        #expect(try degraded.get("/health") == ("200", "{\"status\":\"degraded\"}\n"))
        let stuck = try Rig { $0.stuckThreads = 1 }
        #expect(try stuck.get("/health") == ("503", "{\"status\":\"stuck\"}\n"))
    }

    @Test(
        arguments: [
            (.ok, false, "200", "ready"), (.full, false, "503", "not ready"), (.failed, false, "503", "not ready"),
            (.ok, true, "503", "not ready"),
        ] as [(StatusReport.Journal.State, Bool, String, String)])
    func `ready means that events are accepted`(
        state: StatusReport.Journal.State, isStopping: Bool, status: String, word: String
    ) throws {
        let rig = try Rig {
            $0.status.journal.state = state
            $0.isStopping = isStopping
        }
        #expect(try rig.get("/ready") == (status, "{\"status\":\"\(word)\"}\n"))
    }

    @Test func `an unknown path and an unknown method are refused`() throws {
        let rig = try Rig()
        #expect(try rig.get("/").status == "404")
        #expect(try rig.get("/metrics/").status == "404")
        #expect(try rig.get("/metrics", "-X", "POST").status == "405")
        #expect(try rig.get("/metrics", "-X", "DELETE").status == "405")
        #expect(rig.shared.made.load(ordering: .relaxed) == 0)
    }

    @Test func `clients that ask at once share one report, in their own format`() throws {
        let rig = try Rig()
        let first = try rig.get("/metrics")
        #expect(first.status == "200" && first.body.hasPrefix("# HELP ") && !first.body.hasSuffix("# EOF\n"))
        let open = try rig.get("/metrics", "-H", "Accept: application/openmetrics-text; version=1.0.0")
        #expect(open.body.hasSuffix("# EOF\n"))
        _ = try rig.get("/health")
        #expect(rig.shared.made.load(ordering: .relaxed) == 1)
        rig.shared.clock.advance(MetricsRequests.reuse)
        #expect(try rig.get("/metrics").status == "200")
        #expect(rig.shared.made.load(ordering: .relaxed) == 2)
    }
}
