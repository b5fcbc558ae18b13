import Control
import Foundation
import Platform
import TestSupport
import Testing

/// The output and exit status of `penstock status`.
@Suite struct StatusTests {
    private static let archive = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test func `the exit status means healthy, degraded, not running or permission denied`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        #expect(try daemon.penstock("status").status == 2)
        try daemon.start()
        #expect(try daemon.penstock("status").status == 0)

        let denied = try asNobody(daemon, "status")
        #expect(denied.status == 3, "\(denied.errors)")
        #expect(denied.errors.contains("permission denied: only user "), "\(denied.errors)")
        #expect(
            denied.errors.contains("may open it (mode") || denied.errors.contains("may open it:"), "\(denied.errors)")
        let other = try asNobody(daemon, "resume", "archive")
        #expect(other.status == 3 && other.errors.contains("permission denied: only user "), "\(other.errors)")
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [[:], ["NO_COLOR": "1"]])
    func `on a terminal, states have colours unless NO_COLOR is set`(environment: [String: String]) throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let terminal = try TestTerminal(columns: 160, environment: environment)
        terminal.type("\(TestDaemon.binaries)/penstock status --control \(daemon.control); echo status $?\n")
        try terminal.wait("the status") { $0.text.contains("status 0") }
        #expect(terminal.text.contains("healthy: ") && terminal.hasColour == environment.isEmpty)
        #expect(try !daemon.penstock("status").output.contains("\u{1B}"), "a pipe gets plain text")
        #expect(daemon.terminate() == 0)
    }

    @Test func `the latencies of the last minute are shown`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        #expect(try daemon.status().destinations["archive"]?.latency == nil, "nothing was delivered")
        let client = try EventClient(daemon)
        try client.send(events(0..<100))
        #expect(try client.acknowledgement(of: 100).lines == 100)
        try daemon.settle(accepted: 100)
        try eventually("the latency of the delivery") { try daemon.status().destinations["archive"]?.latency != nil }
        let status = try daemon.status()
        for latency in [status.destinations["archive"]?.latency, status.journal.sync, status.journal.commit] {
            let latency = try #require(latency)
            #expect(latency.p50 > 0 && latency.p99 >= latency.p50)
        }
        let text = try daemon.penstock("status").output
        for row in ["LATENCY (LAST MINUTE)", "journal commit", "journal sync", "delivery to archive"] {
            #expect(text.contains("\n\(row) "), "\(text)")
        }
        #expect(daemon.terminate() == 0)
    }

    /// Runs `penstock` as a user who may not open the control socket.
    private func asNobody(_ daemon: TestDaemon, _ arguments: String...) throws -> Program {
        let command = [TestDaemon.binaries + "/penstock"] + arguments + ["--control", daemon.control]
        if getuid() == 0 {
            return try Program.run("setpriv", ["--reuid", "65534", "--regid", "65534", "--clear-groups"] + command)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: daemon.control)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: daemon.control) }
        return try Program.run(command[0], Array(command.dropFirst()))
    }

    @Test func `recent dead letters degrade the status, with their number and destination`() throws {
        let receiver = try HTTPReceiver([.status(400)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations: { collector: { http: "\(receiver.url)", format: ndjson } }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()
        // The daemon samples the counters once a second.
        try eventually("the daemon is degraded") { try daemon.status().health == .degraded }
        let shown = try daemon.penstock("status")
        #expect(shown.status == 1)
        #expect(
            shown.output.contains(
                "  - 3 dead letters for collector in the last 5 min: penstock dead-letters list collector\n"),
            "\(shown.output)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a refused reload is shown until the files match the running configuration`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let good = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
        try (good + "\nnonsense: 1\n").write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        #expect(try daemon.penstock("reload").status == 1)

        let shown = try daemon.penstock("status")
        #expect(shown.status == 1)
        let place =
            "\(daemon.configurationFile):\(good.split(separator: "\n", omittingEmptySubsequences: false).count + 1):1: error: "
        #expect(
            shown.output.contains("and the files differ from the running configuration: " + place), "\(shown.output)")
        #expect(
            shown.output.contains("was refused; the previous configuration stays in effect:\n    " + place),
            "\(shown.output)")
        // The status stays degraded while the files differ, however often they are compared.
        let report = try daemon.status()
        #expect(report.refusedReload?.errors.first?.hasPrefix(place) == true)

        try good.write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        try eventually("the daemon is healthy again") { try daemon.status().health == .healthy }
        #expect(try daemon.status().refusedReload == nil)

        try (good + "\nnonsense: 1\n").write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        #expect(try !daemon.reload().applied)
        try (good + "\n# other\n").write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        #expect(try daemon.reload().applied)
        #expect(try daemon.penstock("status").status == 0)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a held destination's lag counts from the time of receipt`() throws {
        let receiver = try HTTPReceiver([.status(401)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations:
                  collector: { http: "\(receiver.url)", format: ndjson, batch: { events: 2, wait: 0s }, retry: { initial: 1h, max: 1h } }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<20))
        #expect(try client.acknowledgement(of: 20).lines == 20)
        let sent = Date()
        func lag() throws -> Double { try #require(try daemon.status().destinations["collector"]).lagSeconds }
        try eventually("the destination is held") { try daemon.status().destinations["collector"]?.state == .held }
        #expect(try lag() > 0)
        let before = try lag()
        try eventually("the lag grows") { try lag() > before + 0.5 }

        // A restarted daemon has not read the events yet, but reports how long they have waited.
        daemon.kill9()
        try daemon.start()
        #expect(try daemon.status().destinations["collector"]?.lagEvents == 20)
        try eventually("the lag is known") { try lag() >= Date().timeIntervalSince(sent) - 0.5 }
        #expect(try !daemon.penstock("status").output.contains("  -  HTTP 401"))
        #expect(daemon.terminate() == 0)
    }

    @Test func `idle control connections do not lock out status`() throws {
        let daemon = try TestDaemon(configuration: Self.archive)
        try daemon.start()
        let idle = try (0..<64).map { _ in try UnixStream(connectingTo: daemon.control) }
        for _ in 0..<3 {
            let shown = try daemon.penstock("status")
            #expect(shown.status == 0, "\(shown.errors)")
        }
        #expect(idle.count == 64)
        #expect(daemon.terminate() == 0)
    }
}
