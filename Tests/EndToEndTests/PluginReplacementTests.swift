import Control
import Foundation
import Testing

/// A plugin's file that is added, replaced or broken while the daemon runs: `systemctl reload` is all it takes.
@Suite struct PluginReplacementTests {
    private let daemon: TestDaemon
    private var installed: String { daemon.path("plugins/libsqlite.so") }

    init() throws {
        daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rows, archive] } ]
                destinations:
                  rows:
                    plugin: sqlite
                    settings: { path: DIRECTORY/rows.db }
                    retry: { initial: 10ms, max: 1h }
                  archive: { file: archive.ndjson }
                """, plugins: "DIRECTORY/plugins")
        try FileManager.default.createDirectory(
            atPath: daemon.path("plugins"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    }

    /// As a package manager does it: a new file takes the old one's name.
    private func install(_ bytes: Data? = nil) throws {
        let bytes = try bytes ?? Data(contentsOf: URL(fileURLWithPath: TestDaemon.binaries + "/libsqlite.so"))
        try bytes.write(to: URL(fileURLWithPath: installed + ".new"))
        let renamed = unsafe rename(installed + ".new", installed)
        #expect(renamed == 0)
    }

    private func reload() throws -> Program {
        let reload = try daemon.penstock("reload")
        #expect(reload.status == 0, "\(reload.errors)")
        return reload
    }

    private func send(_ numbers: Range<Int>) throws {
        let sent = try daemon.penstock("send", "--acks", input: events(numbers))
        #expect(sent.status == 0, "\(sent.errors)")
    }

    private func expectRows(_ numbers: Range<Int>) throws {
        try daemon.settle()
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
        #expect(rows.compactMap { Int($0.dropFirst(2)) } == Array(numbers), "each event exactly once")
    }

    private var loads: Int { daemon.log.components(separatedBy: "rows: loaded the plugin sqlite").count - 1 }

    @Test func `a reload starts a replaced plugin, and leaves others alone`() throws {
        try install()
        try daemon.start()
        try send(0..<100)
        try expectRows(0..<100)
        #expect(loads == 1)
        let plugin = try #require(try daemon.status().destinations["rows"]?.plugin)
        #expect(plugin.name == "sqlite" && plugin.version == "1.1" && plugin.build?.isEmpty == false)
        #expect(plugin.counters == ["sqlite_events": 100])
        _ = try reload()
        #expect(loads == 1)
        for round in 1..<6 {
            try install()
            try send(round * 100..<round * 100 + 50)
            _ = try reload()
            try send(round * 100 + 50..<round * 100 + 100)
            try eventually("the new plugin is loaded") { loads == 1 + round }
        }
        try expectRows(0..<600)
        #expect(daemon.log.contains("(build "), "\(daemon.log)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a plugin that cannot be loaded holds its destination, not the daemon, until it is replaced`() throws {
        try daemon.start()
        try send(0..<100)
        try daemon.settle(["archive"])
        try eventually("the reason") { try lastError().contains("there is no plugin \"sqlite\"") }
        try install(Data("garbage".utf8))
        _ = try reload()
        try eventually("the reason") { try lastError().contains("it is not a shared library") }
        try send(100..<200)
        try daemon.settle(["archive"])
        // retry.max is an hour, so the reload is what makes it try again.
        try install()
        _ = try reload()
        try expectRows(0..<200)

        try install(Data("garbage".utf8))
        _ = try reload()
        try eventually("held again") { try lastError().contains("it is not a shared library") }
        try send(200..<300)
        try install()
        _ = try reload()
        try expectRows(0..<300)
        #expect(daemon.terminate() == 0)
    }

    private func lastError() throws -> String { try daemon.status().destinations["rows"]?.lastError ?? "" }
}
