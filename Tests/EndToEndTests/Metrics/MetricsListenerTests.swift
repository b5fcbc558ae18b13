import Control
import Foundation
import Platform
import TestSupport
import Testing

/// A daemon with a listener for metrics.
extension TestDaemon {
    static let archiveOnly = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    static func control(metrics address: String, _ more: String = "") -> String {
        "{ socket: control.sock, metrics: \"\(address)\" \(more) }"
    }

    static func withMetrics(_ address: String = "127.0.0.1:0") throws -> TestDaemon {
        try TestDaemon(configuration: archiveOnly, control: control(metrics: address))
    }

    /// `http://127.0.0.1:PORT`
    func metricsURL() throws -> String {
        String(try #require(try status().metrics).dropLast("/metrics".count))
    }

    func metricsPort() throws -> UInt16 { try #require(UInt16(try metricsURL().split(separator: ":").last ?? "")) }

    /// The text of the metrics.
    func metrics(_ arguments: String...) throws -> String {
        let result = try Program.run(
            "curl",
            ["-sS", "--fail", "--noproxy", "*", "--max-time", "60"] + arguments + [try metricsURL() + "/metrics"])
        guard result.status == 0 else { throw Failure(result.errors) }
        return result.output
    }
}

/// The listener for metrics, as its clients and its enemies meet it.
@Suite struct MetricsListenerTests {
    private func reload(_ daemon: TestDaemon, _ control: String) throws -> ReloadReport {
        try daemon.write(configuration: TestDaemon.archiveOnly, control: control)
        return try daemon.reload()
    }

    /// `HTTP/1.1` GET requests on one connection.
    private func get(_ connection: HTTPConnection, _ path: String) throws -> HTTPConnection.Answer? {
        try connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return try connection.answer()
    }

    @Test func `health and ready answer, and the metrics say where they are`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let connection = try HTTPConnection(port: daemon.metricsPort())
        let health = try get(connection, "/health")
        #expect(health?.status == 200 && health?.body == "{\"status\":\"healthy\"}\n")
        let ready = try get(connection, "/ready")
        #expect(ready?.status == 200 && ready?.body == "{\"status\":\"ready\"}\n")
        #expect(try get(connection, "/metrics")?.fields["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        #expect(try get(connection, "/status")?.status == 404)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a reload adds, moves and removes the listener, and closes its connections`() throws {
        let daemon = try TestDaemon(configuration: TestDaemon.archiveOnly)
        try daemon.start()
        #expect(try daemon.status().metrics == nil)
        let (first, second) = (try TCPPorts.free(), try TCPPorts.free())
        #expect(try reload(daemon, TestDaemon.control(metrics: "127.0.0.1:\(first)")).applied)
        #expect(try daemon.metricsPort() == first)
        let idle = try HTTPConnection(port: first)
        #expect(try get(idle, "/metrics")?.status == 200)

        #expect(try reload(daemon, TestDaemon.control(metrics: "127.0.0.1:\(second)")).applied)
        #expect(try daemon.metricsPort() == second)
        #expect(try idle.answer() == nil, "the old connection ends")
        try TCPPorts.listen(at: first)
        let moved = try HTTPConnection(port: second)
        #expect(try get(moved, "/metrics")?.status == 200)

        // Nothing changes for a listener that stays.
        #expect(try reload(daemon, TestDaemon.control(metrics: "127.0.0.1:\(second)", "# the same\n")).applied)
        #expect(try get(moved, "/metrics")?.status == 200)

        #expect(try reload(daemon, TestDaemon.plainControl).applied)
        #expect(try daemon.status().metrics == nil)
        #expect(try moved.answer() == nil)
        try TCPPorts.listen(at: second)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a reload to a port in use is refused, and the metrics stay where they are`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let port = try daemon.metricsPort()
        let receiver = try HTTPReceiver()
        let report = try reload(daemon, TestDaemon.control(metrics: "127.0.0.1:\(receiver.server.port)"))
        #expect(!report.applied)
        #expect(
            report.errors.first?.hasPrefix("control.metrics: ") == true
                && report.errors.first?.contains("another process listens there") == true, "\(report.errors)")
        // The same port at all addresses excludes the daemon's own listener.
        let wide = try reload(
            daemon, TestDaemon.control(metrics: "0.0.0.0:\(port)", ", metrics_insecure: true"))
        #expect(wide.errors.first?.contains("the metrics are at 127.0.0.1:\(port) now") == true, "\(wide.errors)")
        #expect(try daemon.metricsPort() == port)
        #expect(try daemon.metrics().contains("penstock_reload_refused 1"))
        #expect(daemon.terminate() == 0)
    }

    @Test func `a start with a port in use fails with that reason`() throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon.withMetrics("127.0.0.1:\(receiver.server.port)")
        #expect(throws: Failure.self) { try daemon.start() }
        #expect(daemon.log.contains("control.metrics: ") && daemon.log.contains("another process listens there"))
    }

    @Test func `check refuses an address that other machines can reach, with a hint`() throws {
        let daemon = try TestDaemon.withMetrics("0.0.0.0:9377")
        let result = try daemon.penstock("check", "--config", daemon.configurationFile)
        #expect(result.status == 1)
        let text = result.output + result.errors
        #expect(
            text.contains("other machines can reach 0.0.0.0:9377") && text.contains("metrics_insecure: true"), "\(text)"
        )
    }

    @Test func `a page of another site reads nothing, neither across origins nor by its own name`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let url = try daemon.metricsURL() + "/metrics"
        let foreign = try daemon.curl("-i", "-H", "Origin: https://evil.example", url)
        #expect(foreign.output.contains("HTTP/1.1 200") && !foreign.output.lowercased().contains("access-control-"))
        let rebound = try daemon.curl("-H", "Host: evil.example", url)
        #expect(rebound.output.hasSuffix("403\n") && !rebound.output.contains("penstock_"))
        let preflight = try daemon.curl("-X", "OPTIONS", "-H", "Origin: https://evil.example", url)
        #expect(preflight.output.hasSuffix("405\n"))
    }

    @Test func `idle, slow and greedy clients lock nobody out`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let port = try daemon.metricsPort()
        let enemies = try (0..<200).map { number in
            let connection = try HTTPConnection(port: port)
            switch number % 4 {
            case 0: break
            case 1: try connection.send("GET /metrics HTTP/1.1\r\nX: ")
            // An answer that is never read.
            case 2:
                try connection.send(String(repeating: "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 20))
            default:
                try connection.send("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n")
            }
            return connection
        }
        for _ in 0..<3 {
            #expect(try daemon.metrics().contains("penstock_healthy 1"))
            #expect(try daemon.status().health == .healthy)
        }
        #expect(try daemon.descriptors.count < 150, "at most 64 connections stay open")
        #expect(enemies.count == 200)
        #expect(daemon.terminate() == 0)
    }

    @Test func `dead letters, retries and a full journal show in the metrics`() throws {
        let receiver = try HTTPReceiver([.status(422)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations: { collector: { http: "\(receiver.url)", format: ndjson } }
                """, control: TestDaemon.control(metrics: "127.0.0.1:0"))
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()
        let text = try daemon.metrics()
        for line in [
            "penstock_destination_dead_lettered_events_total{destination=\"collector\"} 3",
            "penstock_destination_dead_letters{destination=\"collector\"} 3",
            "penstock_destination_delivery_seconds_count{destination=\"collector\"} 0",
            "penstock_log_events_total{event=\"events_dead_lettered\"} 1",
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
        #expect(!text.contains("HTTP 422"), "no texts of errors")
        #expect(daemon.terminate() == 0)
    }
}
