import Control
import Foundation
import Testing

/// The operator's commands: their output, their streams and their exit status.
@Suite struct CommandTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test func `check summarizes a valid configuration`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive, rows] } ]
                destinations:
                  archive: { file: archive.ndjson }
                  rows: { plugin: sqlite, settings: { path: DIRECTORY/rows.db } }
                """)
        let before = try FileManager.default.contentsOfDirectory(atPath: daemon.directory)
        let result = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            result.output
                == "\(daemon.configurationFile) is valid: 1 source, 1 route, 2 destinations\nread: \(daemon.configurationFile)\n"
        )
        #expect(result.errors == "")
        #expect(try FileManager.default.contentsOfDirectory(atPath: daemon.directory) == before, "unchanged")
    }

    @Test func `check reports every error with its place, line, caret and hint`() throws {
        let daemon = try TestDaemon(configuration: "")
        try """
        sources:
          apps: { socket: events.sock, mod: "0600" }
        routes:
          - where: event == "x"
            to: [archiv]
        destinations:
          archive:
            file: archive.ndjson
            batch: { wait: 5 }
        """.write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        let result = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(result.status == 1)
        let file = daemon.configurationFile
        #expect(result.output == "read: \(file)\n")
        #expect(
            result.errors == """
                \(file):2:32: error: unknown key "mod" in source "apps"
                  apps: { socket: events.sock, mod: "0600" }
                                               ^~~
                hint: did you mean "mode"?
                \(file):4:18: error: == is not an operator
                  - where: event == "x"
                                 ^~
                hint: write =
                \(file):5:10: error: there is no destination "archiv"
                    to: [archiv]
                         ^~~~~~
                hint: did you mean "archive"?
                \(file):7:3: warning: no route leads to the destination "archive"
                  archive:
                  ^~~~~~~
                hint: add it to the to: of a route
                \(file):9:20: error: "5" is not a duration
                    batch: { wait: 5 }
                                   ^
                hint: a duration is a whole number and a unit: 50us 200ms 5s 10m 24h 7d
                \(file) is not valid: 4 errors, 1 warning

                """)
    }

    @Test func `--deny-warnings fails only if there is a warning`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        let file = daemon.configurationFile
        #expect(try Program.penstock(["check", "--config", file, "--deny-warnings"]).status == 0)
        let fragments = daemon.directory + "/conf.d"
        try FileManager.default.createDirectory(atPath: fragments, withIntermediateDirectories: true)
        try "routes: []".write(toFile: fragments + "/shop.yml", atomically: true, encoding: .utf8)
        try "{}".write(toFile: fragments + "/10.yaml", atomically: true, encoding: .utf8)
        try "{}".write(toFile: fragments + "/11.yaml.disabled", atomically: true, encoding: .utf8)
        let reason = "the files that are read have names that end in .yaml"
        let warning = """
            \(fragments)/shop.yml:1:1: warning: this file is not read: \(reason)
            hint: rename it to shop.yaml; to keep it here unread, rename it to shop.yml.disabled

            """
        let list = """
            \(file) is valid: 1 source, 1 route, 1 destination
            read: \(file)
            read: \(fragments)/10.yaml
            not read: \(fragments)/11.yaml.disabled (\(reason))
            not read: \(fragments)/shop.yml (\(reason))

            """
        let allowed = try Program.penstock(["check", "--config", file])
        #expect(allowed.status == 0 && allowed.errors == warning && allowed.output == list, "\(allowed)")
        let denied = try Program.penstock(["check", "--config", file, "--deny-warnings"])
        #expect(
            denied.status == 1
                && denied.errors == warning + "\(file) is refused: 1 warning, and --deny-warnings is set\n", "\(denied)"
        )
        #expect(denied.output == list)
    }

    @Test func `--json prints each diagnostic with its place, the files and the summary`() throws {
        let daemon = try TestDaemon(
            configuration:
                "routes: [ { to: [archive] } ]\ndestinations: { archive: { file: a.ndjson }, b: { file: b.ndjson } }")
        let file = daemon.configurationFile
        let valid = try Program.penstock(["check", "--config", file, "--json"])
        #expect(valid.status == 0 && valid.errors == "", "\(valid)")
        let report = try #require(jsonObject(valid.output))
        #expect(report["valid"] as? Bool == true && report["errors"] as? Int == 0 && report["warnings"] as? Int == 1)
        #expect(report["files"] as? [String] == [file])
        #expect(report["summary"] as? [String: Int] == ["sources": 1, "routes": 1, "destinations": 2])
        let finding = try #require((report["diagnostics"] as? [[String: Any]])?.first)
        #expect(finding["severity"] as? String == "warning" && finding["file"] as? String == file)
        #expect(finding["message"] as? String == "no route leads to the destination \"b\"")
        #expect(finding["hint"] as? String == "add it to the to: of a route")
        #expect((finding["line"] as? Int ?? 0) > 0 && finding["column"] as? Int == 46 && finding["length"] as? Int == 1)
        #expect(try Program.penstock(["check", "--config", file, "--json", "--deny-warnings"]).status == 1)

        try "sources: 5".write(toFile: file, atomically: true, encoding: .utf8)
        let wrong = try Program.penstock(["check", "--config", file, "--json"])
        let refused = try #require(jsonObject(wrong.output))
        #expect(
            wrong.status == 1 && wrong.errors == "" && refused["valid"] as? Bool == false && refused["summary"] == nil)
    }

    @Test func `a filter on the command line has the same warnings`() throws {
        let result = try Program.penstock([
            "replay", "archive", "--from", "1h", "--where", "type = track", "--control", "/nonexistent/control.sock",
        ])
        #expect(
            result.errors.hasPrefix(
                """
                --where:1:8: warning: events have no field track, so this is always missing
                type = track
                       ^~~~~
                hint: did you mean "track"? put text in quotes; if your events have that field, write \\track

                """), "\(result.errors)")
    }

    @Test func `check validates a plugin's settings against its schema`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rows, missing] } ]
                destinations:
                  rows: { plugin: sqlite, settings: { path: 12, tabel: events } }
                  missing: { plugin: sqlit, where: x = = 1 }
                """)
        let result = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(result.status == 1)
        let file = daemon.configurationFile
        #expect(
            result.errors == """
                \(file):7:45: error: settings.path: must be of type string, but is of type integer
                  rows: { plugin: sqlite, settings: { path: 12, tabel: events } }
                                                            ^~
                \(file):7:49: error: settings.tabel: is not a setting of this plugin
                  rows: { plugin: sqlite, settings: { path: 12, tabel: events } }
                                                                ^~~~~
                hint: did you mean "table"?
                \(file):8:22: error: there is no plugin "sqlit"
                  missing: { plugin: sqlit, where: x = = 1 }
                                     ^~~~~
                hint: did you mean "sqlite"?
                \(file):8:40: error: unexpected "="; expected a field, a value or (
                  missing: { plugin: sqlit, where: x = = 1 }
                                                       ^
                \(file) is not valid: 4 errors

                """)
    }

    @Test func `check rejects a plugin's file that lies in the journal`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [rows, more, other] } ]
                destinations:
                  rows: { plugin: sqlite, settings: { path: journal/rows.db } }
                  more: { plugin: sqlite, settings: { path: events.sock } }
                  other: { plugin: sqlite, settings: { path: events.sock, table: other } }
                """)
        let result = try Program.penstock(["check", "--config", daemon.configurationFile])
        #expect(result.errors.contains(":7:45: error: this path is in the journal's directory"), "\(result.errors)")
        #expect(
            result.errors.contains(":8:45: error: this path is also the socket of source \"apps\""), "\(result.errors)")
        #expect(result.errors.hasSuffix("is not valid: 3 errors\n"), "\(result.errors)")
    }

    @Test func `the daemon rejects what check rejects and distinguishes text errors from machine errors`() throws {
        let daemon = try TestDaemon(
            configuration: "routes: [ { to: [d] } ]\ndestinations: { d: { file: journal/manifest } }")
        let refused = try Program.run(TestDaemon.binaries + "/penstockd", ["--config", daemon.configurationFile])
        #expect(refused.status == 78)
        #expect(refused.errors.contains("error: this path is in the journal's directory"), "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: daemon.path("journal")))
        // A file that is in the way now may be gone at the next start, so systemd should retry.
        try daemon.write(configuration: Self.toFile)
        try "".write(toFile: daemon.control, atomically: true, encoding: .utf8)
        let failed = try Program.run(TestDaemon.binaries + "/penstockd", ["--config", daemon.configurationFile])
        #expect(failed.status == 1)
        #expect(failed.errors.contains("control.sock exists and is not a socket"), "\(failed.errors)")
    }

    @Test func `status has an output for people and one for scripts`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        let down = try daemon.penstock("status")
        #expect(down.status == 2)
        #expect(down.output == "")
        #expect(
            down.errors.contains("penstockd is not running: no process listens at \(daemon.control)"), "\(down.errors)")

        try daemon.start()
        #expect(try daemon.penstock("send", "--acks", input: events(0..<10) + "nonsense\n").status == 1)
        try daemon.settle()
        let json = try daemon.penstock("status", "--json")
        #expect(json.status == 0, "\(json.errors)")
        let report = try #require(jsonObject(json.output))
        #expect(report["health"] as? String == "healthy")
        func value(_ keys: String...) -> Any? {
            keys.reduce(report as Any?) { ($0 as? [String: Any])?[$1] }
        }
        #expect(value("sources", "apps", "accepted") as? Int == 10)
        #expect(value("sources", "apps", "refused") as? Int == 1)
        #expect(value("sources", "apps", "refused_by_reason", "invalid_json") as? Int == 1)
        let first = try #require(value("journal", "first") as? Int)
        #expect(value("journal", "next") as? Int == first + 10)
        #expect(value("journal", "bytes") as? Int ?? 0 > 0)
        #expect(value("destinations", "archive", "state") as? String == "up")
        #expect(value("destinations", "archive", "delivered") as? Int == 10)
        for (key, expected) in [("filtered", 0), ("dead_lettered", 0), ("retries", 0), ("lag_events", 0)] {
            #expect(value("destinations", "archive", key) as? Int == expected)
        }
        #expect(value("destinations", "archive", "lag_seconds") as? Double == 0)

        let text = try daemon.penstock("status")
        #expect(text.status == 0)
        #expect(text.output.hasPrefix("healthy: "), "\(text.output)")
        #expect(text.output.contains("archive") && text.output.contains("invalid_json"), "\(text.output)")
        #expect(!text.output.contains("\u{1B}"), "a file gets no colours")

        daemon.kill9()
        #expect(try daemon.penstock("status").status == 2)
    }

    @Test func `reload fails with a message if no daemon runs`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        let result = try daemon.penstock("reload")
        #expect(result.status == 1)
        #expect(result.errors.contains("penstockd is not running"), "\(result.errors)")
    }

    @Test func `plugins are listed and inspected`() throws {
        let list = try Program.penstock(["plugins", "list", "--directory", TestDaemon.binaries])
        #expect(list.status == 0, "\(list.errors)")
        let lines = list.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("NAME") == true)
        #expect(lines.contains { $0.hasPrefix("sqlite ") && $0.hasSuffix("/libsqlite.so") }, "\(list.output)")
        #expect(lines.contains { $0.hasPrefix("console ") && $0.hasSuffix("/libconsole.so") }, "\(list.output)")

        let inspected = try Program.penstock(["plugins", "inspect", TestDaemon.binaries + "/libsqlite.so"])
        #expect(inspected.status == 0, "\(inspected.errors)")
        #expect(inspected.output.contains("name:     sqlite\n"), "\(inspected.output)")
        #expect(inspected.output.contains("abi:      1.2"), "\(inspected.output)")
        #expect(inspected.output.contains("\"path\""), "the settings' schema: \(inspected.output)")

        let none = try Program.penstock(["plugins", "inspect", TestDaemon.binaries + "/penstock"])
        #expect(none.status != 0)
        #expect(none.output == "")
        #expect(none.errors.contains("/penstock"), "\(none.errors)")
    }
}
