import Foundation

/// Debian's Prometheus in a temporary directory, at a free port. It scrapes every second. It ends with this object.
final class PrometheusServer {
    let port: UInt16
    private let directory: String
    private let process = Process()

    /// - Parameters:
    ///   - target: the host and port to scrape.
    ///   - rules: a file of rules.
    init(scraping target: String, rules: String) throws {
        port = try TCPPorts.free()
        directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try """
        global: { scrape_interval: 1s, evaluation_interval: 1s }
        rule_files: ["\(rules)"]
        scrape_configs:
          - job_name: penstock
            static_configs: [{ targets: ["\(target)"] }]
        """.write(toFile: directory + "/prometheus.yml", atomically: true, encoding: .utf8)
        try "".write(toFile: directory + "/log", atomically: false, encoding: .utf8)
        process.executableURL = URL(fileURLWithPath: "/usr/bin/prometheus")
        process.arguments = [
            "--config.file=\(directory)/prometheus.yml", "--storage.tsdb.path=\(directory)/data",
            "--web.listen-address=127.0.0.1:\(port)", "--log.level=warn",
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(forWritingAtPath: directory + "/log")
        try process.run()
        try eventually("Prometheus is ready") {
            guard process.isRunning else { throw Failure("Prometheus ended: \(log)") }
            return (try? get("/-/ready"))?.contains("Ready") == true
        }
    }

    deinit {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    var log: String { (try? String(contentsOfFile: directory + "/log", encoding: .utf8)) ?? "" }

    private func get(_ path: String, _ arguments: [String] = []) throws -> String {
        let result = try Program.run(
            "curl",
            ["-sS", "--noproxy", "*", "--max-time", "30"] + arguments + ["http://127.0.0.1:\(port)\(path)"])
        if result.status != 0 { throw Failure(result.errors) }
        return result.output
    }

    /// The answer to a query: labels and values.
    func query(_ expression: String) throws -> [(labels: [String: String], value: Double)] {
        let answer = try get("/api/v1/query", ["-G", "--data-urlencode", "query=" + expression])
        guard let object = jsonObject(answer), object["status"] as? String == "success",
            let data = object["data"] as? [String: Any], let results = data["result"] as? [[String: Any]]
        else { throw Failure("\(expression): \(answer)") }
        return results.map { result in
            let value = (result["value"] as? [Any])?.last as? String ?? ""
            return (result["metric"] as? [String: String] ?? [:], Double(value) ?? .nan)
        }
    }

    /// The one value of a query; nil: there is none, or there are several.
    func value(_ expression: String) throws -> Double? {
        let answers = try query(expression)
        return answers.count == 1 ? answers[0].value : nil
    }

    /// Every rule with its health and its last error.
    func rules() throws -> [(name: String, health: String, error: String)] {
        guard let object = jsonObject(try get("/api/v1/rules")), let data = object["data"] as? [String: Any],
            let groups = data["groups"] as? [[String: Any]]
        else { throw Failure("no rules") }
        return groups.flatMap { $0["rules"] as? [[String: Any]] ?? [] }.map {
            ($0["name"] as? String ?? "", $0["health"] as? String ?? "", $0["lastError"] as? String ?? "")
        }
    }
}
