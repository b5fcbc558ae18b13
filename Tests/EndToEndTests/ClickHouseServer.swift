import Foundation
import TestSupport

/// Debian's clickhouse-server, on a directory and a port of its own.
final class ClickHouseServer {
    let port: UInt16
    private let directory: String
    private let process: Process
    private let password: String

    init(password: String) throws {
        self.password = password
        directory = "/tmp/penstock-clickhouse-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        // The port is free until somebody else takes it: then another one is.
        for _ in 0..<5 {
            let (listener, port) = try ScriptedServer.listenAtFreePort()
            close(listener)
            let process = try Self.start(in: directory, port, password)
            do {
                try eventually("ClickHouse serves, or ends") { !process.isRunning || (try? Self.query("SELECT 1", port, password)) == "1\n" }
            } catch {
                process.terminate()
                throw error
            }
            if process.isRunning {
                (self.port, self.process) = (port, process)
                return
            }
        }
        try? FileManager.default.removeItem(atPath: directory)
        throw Failure("clickhouse-server does not start")
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func start(in directory: String, _ port: UInt16, _ password: String) throws -> Process {
        try """
            <yandex>
              <logger><level>warning</level><log>\(directory)/log</log><errorlog>\(directory)/errors</errorlog></logger>
              <http_port>\(port)</http_port><listen_host>127.0.0.1</listen_host>
              <path>\(directory)/data/</path><tmp_path>\(directory)/tmp/</tmp_path><format_schema_path>\(directory)/schemas/</format_schema_path>
              <mark_cache_size>5242880</mark_cache_size><users_config>\(directory)/users.xml</users_config>
              <default_profile>default</default_profile><default_database>default</default_database>
            </yandex>
            """.write(toFile: directory + "/config.xml", atomically: true, encoding: .utf8)
        try """
            <yandex>
              <profiles><default/></profiles><quotas><default/></quotas>
              <users><default>
                <password>\(password)</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
              </default></users>
            </yandex>
            """.write(toFile: directory + "/users.xml", atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/clickhouse-server")
        process.arguments = ["--config-file=\(directory)/config.xml"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    var address: String { "http://127.0.0.1:\(port)" }

    /// - Returns: the answer, as ClickHouse writes it.
    @discardableResult
    func query(_ text: String) throws -> String { try Self.query(text, port, password) }

    private static func query(_ text: String, _ port: UInt16, _ password: String) throws -> String {
        let result = try Program.run(
            "curl", ["-sSf", "--noproxy", "*", "-H", "X-ClickHouse-User: default", "-H", "X-ClickHouse-Key: \(password)", "--data-binary", "@-", "http://127.0.0.1:\(port)/"], input: text)
        guard result.status == 0 else { throw Failure("ClickHouse: \(result.errors)") }
        return result.output
    }
}
