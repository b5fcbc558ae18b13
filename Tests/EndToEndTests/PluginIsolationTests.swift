import Foundation
import Testing

/// A plugin's process, killed while the daemon delivers to it.
@Suite struct PluginIsolationTests {
    @Test func `the plugin's process is killed twenty times, and each event is stored once`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rows, archive] } ]
                destinations:
                  rows:
                    plugin: sqlite
                    settings: { path: DIRECTORY/rows.db }
                    batch: { events: 20, wait: 0s }
                    retry: { initial: 10ms, max: 50ms }
                  archive: { file: archive.ndjson }
                """)
        try daemon.start()
        let identifier = daemon.processIdentifier
        for round in 0..<20 {
            let child = try pluginProcess(of: daemon)
            let sent = try daemon.penstock("send", "--acks", input: events(round * 100..<round * 100 + 100))
            #expect(sent.status == 0, "\(sent.errors)")
            #expect(kill(child, SIGKILL) == 0)
            try eventually("a new process has started") { try pluginProcess(of: daemon) != child }
        }
        try daemon.settle()
        #expect(daemon.processIdentifier == identifier)
        let all = Array(0..<2000)
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
        #expect(rows.compactMap { Int($0.dropFirst(2)) } == all, "each event exactly once")
        #expect(daemon.lines("archive.ndjson").compactMap(number) == all)
        #expect(daemon.terminate() == 0)
    }

    @Test func `the plugin's process ends with the daemon`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rows] } ]
                destinations:
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db } }
                """)
        try daemon.start()
        let child = try pluginProcess(of: daemon)
        daemon.kill9()
        try eventually("the process has ended") { kill(child, 0) != 0 }
    }

    @Test func `a reload moves a plugin into the daemon and back, and each event is stored once`() throws {
        func configuration(_ isolation: String) -> String {
            """
            routes: [ { to: [rows] } ]
            destinations:
              rows: { plugin: sqlite, isolation: \(isolation), settings: { path: DIRECTORY/rows.db } }
            """
        }
        let daemon = try TestDaemon(configuration: configuration("none"))
        try daemon.start()
        for (round, isolation) in ["process", "none", "process"].enumerated() {
            try eventually("the plugin has a process, or none") { try processes(of: daemon).count == round % 2 }
            let sent = try daemon.penstock("send", "--acks", input: events(round * 100..<round * 100 + 100))
            #expect(sent.status == 0, "\(sent.errors)")
            try daemon.write(configuration: configuration(isolation))
            let reload = try daemon.penstock("reload")
            #expect(reload.status == 0, "\(reload.errors)")
        }
        try daemon.settle()
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
        #expect(rows.compactMap { Int($0.dropFirst(2)) } == Array(0..<300))
        #expect(daemon.terminate() == 0)
    }

    /// The number of the one process that hosts a plugin of this daemon.
    private func pluginProcess(of daemon: TestDaemon) throws -> pid_t {
        var found: pid_t?
        try eventually("the plugin's process runs") {
            let processes = try processes(of: daemon)
            found = processes.first
            return processes.count == 1
        }
        return try #require(found)
    }

    /// The numbers of the daemon's children.
    private func processes(of daemon: TestDaemon) throws -> [pid_t] {
        let tasks = "/proc/\(daemon.processIdentifier)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).flatMap { task in
            ((try? String(contentsOfFile: "\(tasks)/\(task)/children", encoding: .utf8)) ?? "")
                .split(separator: " ").compactMap { pid_t($0) }
        }
    }
}
