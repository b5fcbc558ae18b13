import Control
import Foundation
import TestSupport
import Testing

/// `penstock journal` with journals that the real daemon writes or has written.
@Suite struct JournalCommandTests {
    private static let python = "/usr/bin/python3"
    private static let segment = "journal/00000000000000000000.seg"

    /// A daemon that has accepted events 0 to 9 in one batch each and delivered them all.
    private func daemon() throws -> TestDaemon {
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [archive] } ]
                destinations: { archive: { file: archive.ndjson } }
                """, journal: "{ directory: journal, segment_size: 1MiB, cursor_interval: 10ms }")
        try daemon.start()
        let client = try EventClient(daemon)
        for number in 0..<10 {
            try client.send(event(number) + "\n")
            #expect(try client.acknowledgement(of: number + 1).lines == number + 1)
        }
        try daemon.settle()
        return daemon
    }

    private func json(_ program: Program) throws -> [String: Any] { try #require(jsonObject(program.output)) }

    private func dumped(_ program: Program) -> [[String: Any]] {
        program.output.split(separator: "\n").compactMap { jsonObject(String($0)) }
    }

    @Test func `a journal can be inspected while a daemon writes it`() throws {
        let daemon = try daemon()
        let verified = try daemon.penstock("journal", "verify", "--json")
        #expect(verified.status == 0, "\(verified.errors)")
        let found = try json(verified)
        #expect(found["verdict"] as? String == "whole")
        #expect(found["next"] as? Int == 10 && found["events"] as? Int == 10)
        #expect((found["gaps"] as? [Any])?.isEmpty == true)

        try eventually("stat shows the cursor's position") {
            let stat = try json(try daemon.penstock("journal", "stat", "--json"))
            let cursor = (stat["cursors"] as? [[String: Any]])?.first
            return cursor?["destination"] as? String == "archive" && cursor?["position"] as? Int == 10
                && cursor?["lag_events"] as? Int == 0
        }
        let stat = try daemon.penstock("journal", "stat")
        #expect(stat.status == 0)
        #expect(stat.output.contains("00000000000000000000.seg  current"), "\(stat.output)")

        // Events arrive while the command reads. Everything that it sees is whole.
        let client = try EventClient(daemon)
        for round in 0..<20 {
            try client.send(events(round * 100..<(round + 1) * 100))
            // The test waits for no acknowledgement, so that the daemon writes while the files are read.
            let seen = try daemon.penstock("journal", "verify")
            #expect(seen.status == 0, "\(seen.output)\(seen.errors)")
        }
        #expect(try client.acknowledgement(of: 2000).lines == 2000)
        #expect(try daemon.penstock("journal", "dump", "--raw").output.split(separator: "\n").count == 2010)
    }

    @Test func `a dump shows the events as they were sent, and their senders`() throws {
        let daemon = try daemon()
        let all = try daemon.penstock("journal", "dump")
        #expect(all.status == 0 && all.errors == "")
        let lines = dumped(all)
        #expect(lines.map { $0["position"] as? Int } == Array(0..<10))
        let first = try #require(lines.first)
        #expect(first["source"] as? String == "apps")
        #expect((first["peer"] as? [String: Any])?["pid"] as? Int == Int(ProcessInfo.processInfo.processIdentifier))
        #expect((first["event"] as? [String: Any])?["messageId"] as? String == "m-0000000")

        let raw = try daemon.penstock("journal", "dump", "--raw", "--from", "3", "--until", "8", "--limit", "2")
        #expect(raw.output == events(3..<5))
        let time = try #require(lines[7]["received_at"] as? String)
        #expect(try daemon.penstock("journal", "dump", "--raw", "--from", time).output == events(7..<10))
        #expect(try daemon.penstock("journal", "dump", "--raw", "--until", time).output == events(0..<7))
        #expect(try daemon.penstock("journal", "dump", "--from", "2100-01-01").output == "")
        #expect(try daemon.penstock("journal", "dump", "--from", "yesterday").status == 64)

        // The reader of the pipe ends early, which is not an error.
        let piped = try Program.run(
            "bash",
            [
                "-c",
                "set -o pipefail; trap '' PIPE; '\(TestDaemon.binaries)/penstock' journal dump --directory '\(daemon.path("journal"))' | true",
            ])
        #expect(piped.status == 0 && piped.errors == "", "\(piped.errors)")
    }

    @Test func `one flipped bit is located exactly and costs one event`() throws {
        let daemon = try daemon()
        #expect(daemon.terminate() == 0)
        #expect(try daemon.penstock("journal", "verify").status == 0, "the journal is whole without its daemon")
        let bytes = try #require(FileManager.default.contents(atPath: daemon.path(Self.segment)))
        let place = try #require(bytes.range(of: Data("m-0000004".utf8))?.lowerBound)
        var damaged = bytes
        damaged[place] ^= 4
        try damaged.write(to: URL(filePath: daemon.path(Self.segment)))

        let verified = try daemon.penstock("journal", "verify", "--json")
        #expect(verified.status == 1)
        let found = try json(verified)
        let gaps = try #require(found["gaps"] as? [[String: Any]])
        #expect(gaps.count == 1)
        #expect(gaps.first?["first"] as? Int == 4 && gaps.first?["end"] as? Int == 5)
        #expect(gaps.first?["reason"] as? String == "damaged")
        let offset = try #require(gaps.first?["offset"] as? Int)
        let length = try #require(gaps.first?["length"] as? Int)
        #expect((offset..<offset + length).contains(place))
        let times = dumped(try daemon.penstock("journal", "dump")).map { $0["received_at"] as? String }
        #expect(times.count == 9)
        #expect(gaps.first?["after"] as? String == times[3] && gaps.first?["before"] as? String == times[4])
        let text = try daemon.penstock("journal", "verify")
        #expect(
            text.output.contains("is damaged: 1 problem\n") && text.output.contains("positions 4 to 5 (exclusive)"),
            "\(text.output)")

        let dump = try daemon.penstock("journal", "dump", "--raw")
        #expect(dump.output == events(0..<4) + events(5..<10))
        #expect(dump.errors.contains("positions 4 to 5 (exclusive) are missing"), "\(dump.errors)")
        #expect(FileManager.default.contents(atPath: daemon.path(Self.segment)) == damaged, "nothing is written")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: daemon.path("journal")).contains("quarantine") == false)
    }

    @Test func `the daemon is degraded by damage until the copy of the bytes is deleted`() throws {
        let daemon = try daemon()
        #expect(daemon.terminate() == 0)
        var bytes = try #require(FileManager.default.contents(atPath: daemon.path(Self.segment)))
        let place = try #require(bytes.range(of: Data("m-0000004".utf8))?.lowerBound)
        bytes[place] ^= 4
        try bytes.write(to: URL(filePath: daemon.path(Self.segment)))

        let reason = "the journal lost 1 position to damage: "
        try daemon.start()
        try eventually("the damage is a reason") {
            try daemon.status().reasons.contains { $0.hasPrefix(reason) }
        }
        let status = try daemon.penstock("status")
        #expect(status.status == 1 && status.output.hasPrefix("degraded"), "\(status.output)")
        let copies = try FileManager.default.contentsOfDirectory(atPath: daemon.path("journal/quarantine"))
        #expect(copies.count == 1)
        for copy in copies { try FileManager.default.removeItem(atPath: daemon.path("journal/quarantine/\(copy)")) }
        try eventually("the daemon is healthy again") { try daemon.status().reasons == [] }
        #expect(try daemon.status().journal.damaged == 1, "the count of lost positions stays")
    }

    @Test func `an unreadable journal has its own exit status`() throws {
        let daemon = try daemon()
        #expect(daemon.terminate() == 0)
        try FileManager.default.removeItem(atPath: daemon.path("journal/manifest"))
        for command in ["verify", "stat", "dump"] {
            let result = try daemon.penstock("journal", command)
            #expect(result.status == 2 && result.output == "")
            #expect(result.errors.contains("manifest"), "\(result.errors)")
        }
        try "nonsense: [".write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
        let lost = try daemon.penstock("journal", "verify")
        #expect(lost.status == 2 && lost.errors.contains("give --directory"), "\(lost.errors)")
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: python), "python3 is not installed"))
    func `a reader in another language agrees with the dump`() throws {
        let receiver = try HTTPReceiver([.status(200), .status(400, body: "no such field: \"colour\""), .status(200)])
        let daemon = try TestDaemon(
            configuration: """
                routes: [ { to: [collector] } ]
                destinations:
                  collector: { http: "\(receiver.url)", format: single, in_flight: 1 }
                """, journal: "{ directory: journal, segment_size: 1MiB }")
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<3))
        #expect(try client.acknowledgement(of: 3).lines == 3)
        try daemon.settle()
        // Enough events for a second segment.
        let large = event(3, fields: #","properties":{"text":"\#(String(repeating: "ä", count: 10_000))"}"#)
        for number in 4...63 {
            try client.send(large + "\n")
            #expect(try client.acknowledgement(of: number).lines == number)
        }
        try daemon.settle()
        func python(_ arguments: String...) throws -> [[String: Any]] {
            let script = Repository.root + "/Tests/JournalTests/read_journal.py"
            let result = try Program.run(Self.python, [script, "--json"] + arguments)
            #expect(result.status == 0, "\(result.errors)")
            return dumped(result)
        }
        func same(_ ours: [[String: Any]], _ theirs: [[String: Any]]) {
            #expect(ours.map { NSDictionary(dictionary: $0) } == theirs.map { NSDictionary(dictionary: $0) })
        }
        let live = dumped(try daemon.penstock("journal", "dump"))
        #expect(live.count == 63)
        same(live, try python(daemon.path("journal")))

        let letters = dumped(try daemon.penstock("journal", "dump", "--dead-letters", "collector"))
        #expect(letters.map { $0["messageId"] as? String } == ["m-0000001"])
        #expect(letters.first?["answer"] as? String == "no such field: \"colour\"")
        same(letters, try python(daemon.path("journal"), "collector"))
        let raw = try daemon.penstock("journal", "dump", "--raw", "--dead-letters", "collector")
        #expect(raw.output == event(1) + "\n")

        #expect(daemon.terminate() == 0)
        same(live, try python(daemon.path("journal")))
        same(live, dumped(try daemon.penstock("journal", "dump")))
    }
}
