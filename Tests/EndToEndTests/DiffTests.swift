import Control
import Foundation
import Testing

/// `penstock diff` with the running configuration of the real daemon.
@Suite struct DiffTests {
    private static let plain = """
        routes:
          - { to: [archive, sales] }
        destinations:
          archive: { file: archive.ndjson }
          sales: { http: "http://127.0.0.1:9/v1", headers: { Authorization: "Bearer {{ secret.token }}" } }
        secrets: { directory: DIRECTORY }
        """

    private func daemon(journal: String = TestDaemon.plainJournal) throws -> TestDaemon {
        let daemon = try TestDaemon(configuration: Self.plain, journal: journal)
        try "s3cret".write(toFile: daemon.path("token"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: daemon.path("token"))
        try daemon.start()
        return daemon
    }

    private func send(_ count: Int, to daemon: TestDaemon) throws {
        let client = try EventClient(daemon)
        try client.send(
            (0..<count).map {
                #"{"type":"track","event":"E\#($0 % 4)","userId":"u","messageId":"m\#($0)","properties":{"n":\#($0)}}"#
            }.joined(separator: "\n") + "\n")
        #expect(try client.acknowledgement(of: count).lines == count)
    }

    private func diff(_ daemon: TestDaemon, _ arguments: String...) throws -> Program {
        try Program.penstock(["diff", "--config", daemon.configurationFile, "--control", daemon.control] + arguments)
    }

    private func report(_ program: Program) throws -> [String: [String: Any]] {
        let report = try #require(jsonObject(program.output), "\(program.errors)")
        let list = try #require(report["destinations"] as? [[String: Any]])
        return Dictionary(uniqueKeysWithValues: list.map { ($0["name"] as? String ?? "", $0) })
    }

    private func counts(_ destination: [String: Any]?) -> [String: Int] {
        (destination?["counts"] as? [String: Int] ?? [:]).filter { $0.value > 0 }
    }

    @Test func `a changed file is compared with the running configuration`() throws {
        let daemon = try daemon()
        try send(40, to: daemon)
        let same = try diff(daemon)
        #expect(same.status == 0, "\(same.errors)")
        #expect(
            same.output.hasPrefix("no changes · no event had to be compared\n\n= archive · no change, same rules\n"))

        try daemon.write(
            configuration: Self.plain.replacing(
                "- { to: [archive, sales] }",
                with: """
                    - { to: [archive], transforms: [ { set: { properties.kind: new } } ] }
                      - { where: 'event = "E1"', to: [sales, more] }
                    """
            ).replacing("secrets:", with: "  more: { file: more.ndjson, start: earliest }\nsecrets:"))
        let changed = try diff(daemon, "--json")
        #expect(changed.status == 1, "\(changed.errors)")
        let found = try report(changed)
        #expect(counts(found["archive"]) == ["changed": 40])
        #expect(counts(found["sales"]) == ["same": 10, "lost": 30])
        #expect(counts(found["more"]) == ["added": 10])
        #expect(found["more"]?["state"] as? String == "added")
        let fields = found["archive"]?["fields"] as? [[String: Any]]
        #expect(fields?.first?["path"] as? String == "properties.kind" && fields?.first?["added"] as? Int == 40)
        let text = try diff(daemon)
        #expect(text.output.contains("\n        -     \"Authorization") == false)
        #expect(text.output.contains("- Authorization: Bearer <secret token>"), "\(text.output)")
        #expect(!(text.output + text.errors + changed.output).contains("s3cret"))
        #expect(!text.output.contains("\u{1B}"), "colours only on a terminal")

        // The daemon runs what it has applied, whatever the file says now.
        #expect(try daemon.reload().applied)
        #expect(try diff(daemon).status == 0)
    }

    @Test func `two files are compared without a daemon, on a copy of the journal`() throws {
        let daemon = try daemon()
        try send(20, to: daemon)
        try FileManager.default.copyItem(atPath: daemon.configurationFile, toPath: daemon.path("old.yaml"))
        try daemon.write(configuration: Self.plain.replacing("[archive, sales]", with: "[archive]"))
        #expect(daemon.terminate() == 0)
        try FileManager.default.copyItem(atPath: daemon.path("journal"), toPath: daemon.path("copy"))
        let program = try diff(
            daemon, "--against", daemon.path("old.yaml"), "--directory", daemon.path("copy"), "--json", "--where",
            "properties.n < 5", "--samples", "0")
        #expect(program.status == 1, "\(program.errors)")
        let found = try report(program)
        #expect(counts(found["sales"]) == ["lost": 5])
        #expect(found["archive"]?["state"] as? String == "same")
        // Without a daemon and --against, the installed configuration is asked for, and its absence is an error here.
        let alone = try diff(daemon)
        #expect(alone.status == 2)
        #expect(
            alone.errors.contains("the daemon does not run, so the new configuration is compared with /etc/penstock"))
    }

    @Test func `errors are reported with their places, and exit with status 2`() throws {
        let daemon = try daemon()
        let filter = try diff(daemon, "--where", "event = 'x' and")
        #expect(filter.status == 2)
        #expect(filter.errors.contains("--where:1:16: error: ") && filter.errors.contains("^"), "\(filter.errors)")
        let name = try diff(daemon, "--destination", "arhcive")
        #expect(name.status == 2)
        #expect(name.errors.contains("hint: did you mean \"archive\"?"), "\(name.errors)")
        let nowhere = try diff(daemon, "--directory", "/nonexistent")
        #expect(nowhere.status == 2 && nowhere.errors.contains("no journal in /nonexistent"), "\(nowhere.errors)")
        #expect(try diff(daemon, "--samples", "101").status == 64)
        try daemon.write(configuration: Self.plain.replacing("[archive, sales]", with: "[archve]"))
        let invalid = try diff(daemon)
        #expect(invalid.status == 2 && invalid.output == "")
        #expect(invalid.errors.contains("penstock.yaml:") && invalid.errors.contains("archve"), "\(invalid.errors)")
    }

    @Test func `an empty journal has nothing to compare, and a damaged one is compared without its gap`() throws {
        let daemon = try daemon(journal: "{ directory: journal, segment_size: 1MiB }")
        try FileManager.default.copyItem(atPath: daemon.configurationFile, toPath: daemon.path("old.yaml"))
        try daemon.write(configuration: Self.plain.replacing("[archive, sales]", with: "[archive]"))
        let empty = try diff(daemon)
        #expect(empty.status == 0, "\(empty.errors)")
        #expect(empty.output.hasPrefix("no changes · the journal has no such events\n"), "\(empty.output)")
        for _ in 0..<10 { try send(1, to: daemon) }
        #expect(daemon.terminate() == 0)
        let segment = daemon.path("journal/00000000000000000000.seg")
        var bytes = try #require(FileManager.default.contents(atPath: segment))
        var place = 0..<0
        for _ in 0..<4 {
            place = try #require(
                bytes.range(of: Data("\"E0\"".utf8), in: place.upperBound..<bytes.count)
                    .map { $0.lowerBound..<$0.upperBound })
        }
        bytes[place.lowerBound] ^= 4
        try bytes.write(to: URL(filePath: segment))
        let damaged = try diff(daemon, "--against", daemon.path("old.yaml"), "--json")
        #expect(damaged.status == 1)
        #expect(damaged.errors.contains("1 event cannot be read and is not compared"), "\(damaged.errors)")
        let found = try #require(jsonObject(damaged.output))
        #expect(found["missing"] as? Int == 1 && found["events"] as? Int == 9)
    }

    @Test func `the journal is compared while it is written, from a given time on`() throws {
        let daemon = try daemon()
        try send(10, to: daemon)
        try daemon.write(configuration: Self.plain.replacing("[archive, sales]", with: "[archive]"))
        for round in 1...10 {
            let client = try EventClient(daemon)
            try client.send(events(0..<500))
            // The test waits for no acknowledgement, so that the daemon writes while the files are read.
            let program = try diff(daemon, "--json", "--from", "1h")
            let found = try #require(jsonObject(program.output), "\(program.errors)")
            let seen = try #require(found["events"] as? Int)
            #expect(
                (10...10 + round * 500).contains(seen) && found["missing"] as? Int == 0, "\(seen) \(program.errors)")
            #expect(try client.acknowledgement(of: 500).lines == 500)
        }
        let later = try diff(daemon, "--from", "2100-01-01")
        #expect(later.output.hasPrefix("no changes · the journal has no such events\n"), "\(later.output)")
    }

    @Test func `a terminal shows colours`() throws {
        let daemon = try daemon()
        try send(8, to: daemon)
        try daemon.write(configuration: Self.plain.replacing("[archive, sales]", with: "[archive]"))
        let terminal = try TestTerminal(columns: 100, rows: 60)
        terminal.type(
            "\(TestDaemon.binaries)/penstock diff --config \(daemon.configurationFile) --control \(daemon.control); "
                + "echo ended\n")
        try terminal.wait("the end") { $0.lines.contains("ended") }
        #expect(terminal.hasColour)
        #expect(terminal.lines.contains { $0.contains("lost  8  100 %") || $0.contains("lost          8  100 %") })
    }
}
