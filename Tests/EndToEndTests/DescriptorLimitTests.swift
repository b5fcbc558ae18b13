import Control
import Foundation
import Platform
import Testing

/// More clients than the descriptor limit allows.
@Suite struct DescriptorLimitTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test func `clients leave a reserve of descriptors for files and for status`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start(descriptors: 160)
        let first = try EventClient(daemon)
        // The listener's queue holds the clients that are not accepted.
        var clients = try (0..<160).map { _ in try UnixStream(connectingTo: daemon.events, timeout: .seconds(20)) }
        try eventually("the log names the limit") {
            daemon.log.contains("accepting clients is paused: ")
                && daemon.log.contains(" of 160 descriptors (RLIMIT_NOFILE) are used by clients, ")
        }
        let status = try daemon.penstock("status")
        #expect(status.status == 1, "\(status.errors)")
        #expect(
            status.output.contains("clients wait to be accepted: ") && status.output.contains(" of 160 descriptors"),
            "\(status.output)")
        #expect(try daemon.reload().applied)
        try first.send(events(0..<10))
        #expect(try first.acknowledgement(of: 10).refusals == [])
        try daemon.settle(accepted: 10)
        #expect(daemon.lines("archive.ndjson").count == 10)

        // Accepting resumes on its own, in the order of arrival.
        let last = clients.removeLast()
        _ = try last.write(Array((event(10) + "\n").utf8).span)
        clients = []
        try daemon.settle(accepted: 11)
        #expect(
            daemon.log.components(separatedBy: "accepting clients is paused").count - 1 < 10,
            "one log line per interval")
        #expect(daemon.terminate() == 0)
    }

    @Test func `clients wait while no descriptor is free, and are served when one is`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let first = try EventClient(daemon)
        try first.send(events(0..<1))
        #expect(try first.acknowledgement(of: 1).refusals == [])
        try daemon.settle(accepted: 1)
        let open = try daemon.descriptors
        try daemon.limit(descriptors: (0...).first { !open.contains($0) } ?? 0)
        let second = try EventClient(daemon)
        try second.send(events(1..<2))
        try eventually("the log names the reason") { daemon.log.contains("accepting clients is paused: accept") }
        // Connected clients are still served.
        try first.send(events(2..<3))
        #expect(try first.acknowledgement(of: 2).refusals == [])
        try daemon.limit(descriptors: 1024)
        #expect(try second.acknowledgement(of: 1).refusals == [])
        try daemon.settle(accepted: 3)
        #expect(daemon.lines("archive.ndjson").count == 3)
        #expect(daemon.terminate() == 0)
    }
}
