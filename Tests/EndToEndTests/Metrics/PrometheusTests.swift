import Foundation
import Testing

/// The daemon's metrics, read by the programs that users read them with.
@Suite struct PrometheusTests {
    private static let monitoring = Repository.root + "/etc/monitoring"

    @Test func `Prometheus scrapes the daemon, and answers what was sent, refused and delivered`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<25) + "{}\nno json\n")
        #expect(try client.acknowledgement(of: 27).lines == 27)
        try daemon.settle(accepted: 25)
        let prometheus = try PrometheusServer(
            scraping: "127.0.0.1:\(try daemon.metricsPort())", rules: Self.monitoring + "/penstock.rules.yml")
        try eventually("Prometheus has scraped") { try prometheus.value("up") == 1 }
        for (query, value) in [
            ("penstock_source_accepted_events_total{source=\"apps\"}", 25.0),
            ("sum(penstock_source_refused_events_total)", 2), ("penstock_ingest_seconds_count", 25),
            ("penstock_ingest_seconds_bucket{le=\"+Inf\"}", 25),
            ("penstock_destination_delivered_events_total{destination=\"archive\"}", 25),
            ("penstock_destination_delivery_seconds_count{destination=\"archive\"}", 25),
            ("penstock_destination_lag_events", 0), ("penstock_healthy", 1), ("count(penstock_build_info)", 1),
            ("penstock_journal_next_position", 25), ("penstock_journal_state{state=\"ok\"}", 1),
            ("penstock_destination_state{state=\"up\"}", 1), ("process_open_fds > bool 5", 1),
            ("process_resident_memory_bytes > bool 1e6", 1), ("process_cpu_seconds_total > bool 0", 1),
            ("penstock_journal_sync_seconds_count > bool 0", 1),
            ("abs(time() - process_start_time_seconds) < bool 600", 1),
            ("histogram_quantile(0.5, penstock_ingest_seconds_bucket) > bool 0", 1),
        ] {
            let found = try prometheus.value(query)
            #expect(found == value, "\(query)")
        }
        #expect(try prometheus.query("{__name__=~\"penstock_.+\"}").count > 100)

        try eventually("the rules are evaluated") {
            let rules = try prometheus.rules()
            return rules.count > 10 && rules.allSatisfy { $0.health == "ok" }
        }
        for expression in try Self.dashboard() { _ = try prometheus.query(expression) }

        // The next scrape of a daemon that is gone.
        daemon.kill9()
        try eventually("Prometheus notices") { try prometheus.value("up") == 0 }
        #expect(prometheus.log == "", "\(prometheus.log)")
    }

    @Test func `the parsers of Prometheus' Python client read both formats, with the same samples`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle(accepted: 3)
        let script = """
            import sys
            from prometheus_client.openmetrics import parser as openmetrics
            from prometheus_client import parser as prometheus
            parser = openmetrics if sys.argv[1] == "openmetrics" else prometheus
            for family in parser.text_string_to_metric_families(sys.stdin.read()):
                for sample in family.samples:
                    if sample.name.startswith("penstock_source_") or sample.name.endswith("_bucket"):
                        print(family.type, sample.name, sorted(sample.labels.items()), float(sample.value))
            """
        func parsed(_ format: String, _ accept: String) throws -> [String] {
            let text = try daemon.metrics("-H", "Accept: \(accept)")
            let result = try Program.run("/usr/bin/python3", ["-c", script, format], input: text)
            #expect(result.status == 0, "\(result.errors)")
            return result.output.split(separator: "\n").map(String.init)
        }
        let open = try parsed("openmetrics", "application/openmetrics-text; version=1.0.0")
        #expect(open.contains("counter penstock_source_accepted_events_total [('source', 'apps')] 3.0"), "\(open)")
        #expect(open.contains { $0.hasPrefix("histogram penstock_journal_sync_seconds_bucket [('le', '0.0001')] ") })
        #expect(try parsed("prometheus", "text/plain") == open)
    }

    @Test func `promtool has nothing to say about the metrics of a daemon`() throws {
        let daemon = try TestDaemon.withMetrics()
        try daemon.start()
        let result = try Program.run("promtool", ["check", "metrics"], input: try daemon.metrics())
        #expect(result.status == 0 && result.output + result.errors == "", "\(result)")
    }

    @Test func `the alert rules are valid, and do what their tests say`() throws {
        let check = try Program.run("promtool", ["check", "rules", Self.monitoring + "/penstock.rules.yml"])
        #expect(check.status == 0, "\(check.output) \(check.errors)")
        let test = try Program.run("promtool", ["test", "rules", Self.monitoring + "/penstock.rules.test.yml"])
        #expect(test.status == 0, "\(test.output) \(test.errors)")
        let (rules, tests) = (try Self.text("penstock.rules.yml"), try Self.text("penstock.rules.test.yml"))
        for alert in rules.matches(of: /- alert: (\w+)/).map(\.1) {
            #expect(
                tests.contains("alertname: \(alert)\n        exp_alerts:\n"), "\(alert) has no test in which it fires")
            #expect(
                tests.contains("alertname: \(alert)\n        exp_alerts: []"),
                "\(alert) has no test in which it does not")
        }
    }

    @Test func `the rules and the dashboard use only metrics of the book`() throws {
        let book = try String(
            contentsOfFile: Repository.root + "/Sources/penstockd/Penstock.docc/Monitoring.md", encoding: .utf8)
        let known = Set(book.matches(of: /\n\| `((?:penstock|process)_\w+)`/).map { String($0.1) })
        #expect(known.count > 50)
        let rules = try Self.text("penstock.rules.yml")
        let used = (try Self.dashboard() + rules.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init))
            .flatMap { $0.matches(of: /\b(?:penstock|process)_[a-z_]+/).map { String($0.output) } }
        #expect(Set(used).count > 20)
        for name in Set(used) {
            let family = name.replacing(/_bucket$/, with: "")
            #expect(known.contains(family), "\(name)")
        }
    }

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: monitoring + "/" + name, encoding: .utf8)
    }

    /// The queries of the dashboard, with values for Grafana's variables.
    private static func dashboard() throws -> [String] {
        let dashboard = try #require(jsonObject(text("penstock.dashboard.json")))
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let places = panels.compactMap { $0["gridPos"] as? [String: Int] }
        #expect(places.allSatisfy { ($0["x"] ?? 0) + ($0["w"] ?? 0) <= 24 })
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
        let expressions = targets.compactMap { $0["expr"] as? String }
        #expect(expressions.count > 25 && expressions.count == targets.count)
        return expressions.map {
            $0.replacing("$__rate_interval", with: "1m").replacing("$instance", with: ".*")
        }
    }
}
