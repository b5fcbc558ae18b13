import Foundation
import TestSupport

/// Debian's clickhouse-server with its own directory and port.
final class ClickHouseServer {
    let port: UInt16
    private let directory: String
    private let process: pid_t
    private let password: String

    init(password: String) throws {
        self.password = password
        directory = "/tmp/penstock-clickhouse-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let (listener, port) = try ScriptedServer.listenAtFreePort()
        close(listener)
        self.port = port
        process = try Self.start(in: directory, port, password)
        try query("SELECT 1")
    }

    deinit {
        kill(process, SIGKILL)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func start(in directory: String, _ port: UInt16, _ password: String) throws -> pid_t {
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
        return try Program.startDetached(["/usr/sbin/clickhouse-server", "--config-file=\(directory)/config.xml"])
    }

    var address: String { "http://127.0.0.1:\(port)" }

    /// - Returns: the response as ClickHouse writes it.
    @discardableResult
    func query(_ text: String) throws -> String {
        let result = try Program.run(
            "curl",
            [
                // Retries until the server is up, which takes a second.
                "-sSf", "--retry", "60", "--retry-connrefused", "--retry-delay", "1", "--noproxy", "*",
                "-H", "X-ClickHouse-User: default", "-H", "X-ClickHouse-Key: \(password)",
                "--data-binary", "@-", "http://127.0.0.1:\(port)/",
            ], input: text)
        guard result.status == 0 else { throw Failure("ClickHouse: \(result.errors)") }
        return result.output
    }
}
