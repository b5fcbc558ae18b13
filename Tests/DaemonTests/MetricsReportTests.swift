import Control
import Foundation
import Platform
import Telemetry
import TestSupport
import Testing

@testable import Daemon

@Suite struct MetricsReportTests {
    /// A report in which every metric has a sample.
    static func full() -> MetricsReport {
        var apps = StatusReport.Source(
            accepted: 12, refused: 3, refusedByReason: ["too_large": 3], violationsByReason: ["unplanned": 1],
            normalised: ["empty_ids": 2], connections: 4, limits: ["line_timeout": 5], listens: [])
        apps.duplicates = 6
        apps.dedupe = .init(windowSeconds: 60, effectiveWindowSeconds: 30, ids: 7, capacity: 8, forgottenEarly: 9)
        var bus = StatusReport.Source(accepted: 1, refused: 0, refusedByReason: [:], connections: 0, listens: [])
        bus.state = .retrying
        bus.restarts = 2
        bus.openLanes = 3
        bus.lagSeconds = 12.5
        bus.readyLagSeconds = 300
        bus.plugin = .init(
            name: "nats", version: "1.0", build: nil, counters: ["messages": 10], gauges: ["waiting": 1.5])
        bus.lastError = "secret error"
        var shop = StatusReport.Destination(
            state: .held, position: 20, delivered: 21, filtered: 22, deadLettered: 23, retries: 24, eventsPerSecond: 25,
            lagEvents: 26, lagSeconds: 27.5, lastError: "secret error", nextAttemptSeconds: 28, stateSeconds: 29,
            lastAnswer: "secret answer", filteredByReason: ["no_route": 22], dropped: 30)
        shop.replayed = 31
        shop.mended = 45
        shop.replay = .init(
            id: "r", state: .running, from: "", until: "", condition: "secret condition", eventsPerSecond: nil,
            accepted: "", start: 32, position: 33, end: 34, delivered: 35, filtered: 36, deadLettered: 37, missing: 38,
            lastError: nil)
        shop.deadLetters = .init(letters: 39, bytes: 40, expired: 41, retried: 42, isRetrying: true)
        shop.plugin = .init(name: "sqlite", version: "2.0", build: nil, counters: ["rows": 43], gauges: ["size": -1])
        let histogram = Histogram(bounds: .ofDisk)
        histogram.record(nanoseconds: 3_000_000)
        var report = MetricsReport(
            status: StatusReport(
                reasons: ["secret reason"], version: "1.2.3", uptimeSeconds: 4, eventsPerSecond: 5,
                sources: ["apps": apps, "bus": bus],
                journal: .init(
                    state: .full, first: 50, next: 60, bytes: 70, segments: 80, damaged: 90, lastError: "secret error",
                    retainBytes: 100, retainSeconds: 110, removedForSpace: 120),
                destinations: ["shop\"\n": shop], recentRefusals: [],
                refusedReload: .init(time: "", errors: ["secret error"]), host: "edge1", configurationHash: "0af"),
            startTime: 1_700_000_000.25)
        report.stuckThreads = 1
        report.log = ["journal_write_failed": 2, "started": 1]
        report.process = ProcessUsage.current
        report.queuedBytes = 130
        report.ingest = histogram.snapshot()
        report.syncs = histogram.snapshot()
        report.latencies = ["shop\"\n": histogram.snapshot()]
        return report
    }

    private static func lines(_ format: MetricsText.Format = .prometheus) -> [String] {
        String(decoding: full().text(format), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The names in `# TYPE` lines.
    private static func declared(_ lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix("# TYPE ") }.compactMap { $0.split(separator: " ").dropFirst(2).first }.map(
            String.init)
    }

    @Test func `every metric of the catalogue is written once, and no other one`() {
        let declared = Self.declared(Self.lines())
        #expect(declared.sorted() == MetricCatalogue.all.map(\.name).sorted())
        #expect(Set(declared).count == declared.count)
    }

    @Test(arguments: [
        #"penstock_build_info{version="1.2.3"} 1"#, #"penstock_configuration_info{host="edge1",hash="0af"} 1"#,
        "penstock_healthy 0", "penstock_degraded_reasons 1",
        "penstock_reload_refused 1", "penstock_stuck_threads 1", "process_start_time_seconds 1700000000.25",
        #"penstock_source_accepted_events_total{source="apps"} 12"#,
        #"penstock_source_refused_events_total{source="apps",reason="too_large"} 3"#,
        #"penstock_source_refused_events_total{source="apps",reason="invalid_json"} 0"#,
        #"penstock_source_limits_total{source="apps",limit="line_timeout"} 5"#,
        #"penstock_source_state{source="bus",state="retrying"} 1"#,
        #"penstock_source_state{source="bus",state="up"} 0"#,
        #"penstock_source_lag_seconds{source="bus"} 12.5"#,
        #"penstock_source_plugin_info{source="bus",plugin="nats",version="1.0"} 1"#,
        #"penstock_source_plugin_total{source="bus",name="messages"} 10"#,
        #"penstock_source_plugin_value{source="bus",name="waiting"} 1.5"#,
        #"penstock_journal_state{state="full"} 1"#, "penstock_journal_write_failures_total 2",
        #"penstock_destination_state{destination="shop\"\n",state="held"} 1"#,
        #"penstock_destination_lag_seconds{destination="shop\"\n"} 27.5"#,
        #"penstock_destination_filtered_events_total{destination="shop\"\n",reason="no_route"} 22"#,
        #"penstock_destination_delivery_seconds_bucket{destination="shop\"\n",le="0.0025"} 0"#,
        #"penstock_destination_delivery_seconds_bucket{destination="shop\"\n",le="0.005"} 1"#,
        #"penstock_destination_delivery_seconds_count{destination="shop\"\n"} 1"#,
    ])
    func `a figure of the status is a sample`(line: String) {
        #expect(Self.lines().contains(line))
    }

    @Test(arguments: MetricsText.Format.allCases)
    func `texts of errors, answers and conditions are in no metric`(format: MetricsText.Format) {
        #expect(!Self.lines(format).contains { $0.contains("secret") })
    }

    /// An aggregator without a lane reads nothing, and a host with a socket accepts events all the same.
    @Test func `an aggregator is ready when it reads a lane`() {
        var report = Self.full()
        report.status.journal.state = .ok
        #expect(report.isReady)
        var bus = report.status.sources["bus"]
        bus?.state = .up
        report.status.sources = ["bus": bus].compactMapValues(\.self)
        #expect(report.isReady)
        report.status.sources["bus"]?.openLanes = 0
        #expect(!report.isReady)
        report.status.sources["bus"]?.openLanes = 1
        report.status.sources["bus"]?.lagSeconds = 300
        report.status.sources["bus"]?.readyLagSeconds = 300
        #expect(report.isReady)
        report.status.sources["bus"]?.lagSeconds = 300.1
        #expect(!report.isReady)
        report.status.sources["bus"]?.lagSeconds = nil
        report.status.sources["bus"]?.state = .retrying
        #expect(!report.isReady)
        report.status.sources = [:]
        #expect(report.isReady)
    }

    @Test func `a figure of a source that does not exist is left out`() {
        var report = Self.full()
        report.status.sources = [:]
        report.status.destinations = [:]
        let declared = Self.declared(
            String(decoding: report.text(.prometheus), as: UTF8.self).split(separator: "\n").map(String.init))
        #expect(!declared.contains { $0.hasPrefix("penstock_source_") || $0.hasPrefix("penstock_destination_") })
    }

    @Test(
        arguments: [
            (nil, .prometheus), ("", .prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
            ("application/json", .prometheus), ("application/openmetrics-text", .openMetrics),
            ("application/openmetrics-text; version=1.0.0; charset=utf-8", .openMetrics),
            ("application/openmetrics-text;version=0.0.1", .prometheus),
            ("APPLICATION/OpenMetrics-Text;Version=1.0.0", .openMetrics),
            ("application/openmetrics-text;q=0", .prometheus), ("application/openmetrics-text;q=x", .prometheus),
            ("application/openmetrics-text;q=0.1, text/plain;q=0.2", .prometheus),
            // Prometheus 2.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                    + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", .openMetrics
            ),
            (String(repeating: "text/plain,", count: 10_000), .prometheus), (";;,,=;q=,q", .prometheus),
        ] as [(String?, MetricsText.Format)])
    func `the format is the one that the client prefers`(accept: String?, format: MetricsText.Format) {
        #expect(MetricsText.Format(accept: accept) == format)
    }

    @Test func `promtool finds nothing to say about the metrics`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("metrics", String(decoding: Self.full().text(.prometheus), as: UTF8.self))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "promtool check metrics <\(file) >\(directory.path)/out 2>&1"]
        try process.run()
        process.waitUntilExit()
        let output = try String(contentsOfFile: directory.path + "/out", encoding: .utf8)
        #expect(process.terminationStatus == 0 && output == "", "\(output)")
    }

    @Test func `the book's table has every metric`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let book = try String(
            contentsOf: root.appending(path: "Sources/penstockd/Penstock.docc/Monitoring.md"), encoding: .utf8)
        let shown = book.split(separator: "\n").filter { $0.hasPrefix("| `penstock_") || $0.hasPrefix("| `process_") }
        let expected = MetricCatalogue.all.map { metric in
            "| `\(metric.name)` | \(metric.kind.rawValue) | "
                + metric.labels.map { "`\($0)`" }.joined(separator: ", ") + " | \(metric.help) |"
        }.map { $0.replacing("|  |", with: "| |") }
        #expect(shown.map(String.init) == expected, "the rows should be:\n\(expected.joined(separator: "\n"))")
    }
}
