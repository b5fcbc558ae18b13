import Control
import Foundation
import Testing

/// `penstock send` and the commands that send one event.
@Suite struct SendCommandTests {
    private static let toFile = """
        routes: [ { to: [archive] } ]
        destinations: { archive: { file: archive.ndjson } }
        """

    @Test(arguments: [false, true], [false, true])
    func `send reads a file or standard input`(acks: Bool, fromFile: Bool) throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let text = events(0..<1000)
        try text.write(toFile: daemon.path("input.ndjson"), atomically: true, encoding: .utf8)
        let arguments =
            ["send", "--socket", daemon.events] + (acks ? ["--acks"] : [])
            + (fromFile ? [daemon.path("input.ndjson")] : [])
        let result = try Program.penstock(arguments, input: fromFile ? "" : text)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output == "" && result.errors == "", "no output, and no progress bar in a file")
        if acks {
            #expect(
                try daemon.status().journal.next - daemon.status().journal.first == 1000,
                "the events are on disk when send returns")
        }
        try daemon.settle(accepted: 1000)
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<1000))
        #expect(daemon.terminate() == 0)
    }

    @Test func `on a terminal, send shows events, rate and refusals, and removes the line at the end`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let pipe = daemon.path("pipe")
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        let terminal = try TestTerminal(columns: 100)
        terminal.type("\(TestDaemon.binaries)/penstock send --acks --socket \(daemon.events) \(pipe); echo status $?\n")
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: pipe))
        try writer.write(contentsOf: Data(events(0..<1000).utf8))
        try terminal.wait("the events are on disk") { terminal in
            terminal.lines.contains {
                $0.hasPrefix("1,000 events, ") && $0.contains("/s, ") && $0.contains(", 1,000 on disk")
            }
        }
        try writer.write(contentsOf: Data("nonsense\n".utf8))
        try terminal.wait("the refusal, and the line below it") { terminal in
            guard let refusal = terminal.lines.firstIndex(where: { $0.hasPrefix("line 1001: invalid_json") }),
                let line = terminal.lines.firstIndex(where: { $0.hasPrefix("1,001 events, ") })
            else { return false }
            return refusal < line && terminal.lines[line].contains("1,000 on disk, 1 refused")
        }
        try writer.close()
        try terminal.wait("it ends") { $0.text.contains("status 1") }
        #expect(!terminal.text.contains("on disk"), "\(terminal.text)")
        #expect(terminal.unknown == [], "\(terminal.unknown)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `on a terminal, send shows how much of a file is sent, also while the daemon reads nothing`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        // Much more than the daemon and the socket buffer.
        try events(0..<400_000).write(toFile: daemon.path("input.ndjson"), atomically: true, encoding: .utf8)
        try daemon.suspend()
        let terminal = try TestTerminal(columns: 120)
        let input = daemon.path("input.ndjson")
        terminal.type(
            "\(TestDaemon.binaries)/penstock send --timeout 1m --socket \(daemon.events) \(input); echo status $?\n")
        try terminal.wait("it waits") { terminal in
            terminal.lines.contains {
                $0.hasPrefix("[") && $0.contains("] ") && $0.contains(" %  ") && $0.contains(" 0/s")
            }
        }
        daemon.signal(SIGCONT)
        try terminal.wait("it ends") { $0.text.contains("status 0") }
        #expect(!terminal.text.contains(" %"), "\(terminal.text)")
        try daemon.settle(accepted: 400_000)
        #expect(daemon.terminate() == 0)
    }

    @Test func `refusals are printed with their lines and fail the command`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let input = event(1) + "\nnonsense\n\n" + #"{"type":"track","event":"E"}"# + "\n" + event(2)
        let result = try daemon.penstock("send", "--acks", input: input)
        #expect(result.status == 1)
        let lines = result.errors.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        #expect(lines.first?.hasPrefix("line 2: invalid_json: ") == true, "\(lines)")
        #expect(lines.dropFirst().first?.hasPrefix("line 4: no_user_anon_id: ") == true, "\(lines)")
        #expect(lines.last == "2 of 5 lines were refused")
        #expect(result.output == "")
        // Without --acks, refusals are not reported.
        let quiet = try daemon.penstock("send", input: "nonsense\n")
        #expect(quiet.status == 0 && quiet.errors == "")
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == [1, 2])
        try eventually("they are counted") { try daemon.status().sources["apps"]?.refusedByReason["invalid_json"] == 2 }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a file of invalid lines ends the command with the reason`() throws {
        let daemon = try TestDaemon(
            configuration: Self.toFile, sources: "{ apps: { socket: events.sock, max_consecutive_refusals: 100 } }")
        try daemon.start()
        let input = event(1) + "\n" + String(repeating: "nonsense\n", count: 200_000)
        let result = try daemon.penstock("send", "--acks", input: input)
        #expect(result.status == 1)
        let lines = result.errors.split(separator: "\n").map(String.init)
        #expect(lines.count == 3, "\(lines.prefix(10))")
        // The scanner checks 256 lines at a time.
        let refusals = lines.first.flatMap { Int($0.drop { $0 != "(" }.dropFirst().prefix { $0 != " " }) } ?? 0
        #expect(lines.first?.hasPrefix("lines 2 to ") == true && (100...356).contains(refusals), "\(lines)")
        #expect(
            lines.dropFirst().first?.contains("max_consecutive_refusals: 100 lines in a row were refused") == true,
            "\(lines)")
        #expect(
            lines.last?.hasPrefix("Error: the daemon closed the connection (max_consecutive_refusals) before ") == true,
            "\(lines)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a command that cannot reach the daemon names the next step`() throws {
        let socket = "/tmp/penstock-test-\(UUID().uuidString.prefix(8)).sock"
        for arguments in [["send"], ["track", "E", "--user", "u"]] {
            let result = try Program.penstock(arguments + ["--socket", socket], input: event(1))
            #expect(result.status == 1)
            #expect(
                result.errors.contains("cannot reach the daemon at \(socket): it is not running"), "\(result.errors)")
            #expect(result.output == "")
        }
        let missing = try Program.penstock(["send", "--socket", socket, socket + ".ndjson"])
        #expect(missing.status == 1)
        #expect(missing.errors.contains(socket + ".ndjson"), "\(missing.errors)")
    }

    @Test func `each kind of event can be sent from a shell`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let commands = [
            ["track", "Order Completed", "--user", "ada", "-p", "total=12.5", "-p", "coupon=autumn"],
            ["identify", "--user", "ada", "-p", "name=Ada Byron"],
            ["page", "Home", "--anonymous", "a-1", "-p", "path=/"],
            ["screen", "Welcome", "--user", "ada", "--anonymous", "a-1"],
            ["group", "works", "--user", "ada", "-p", "employees=42"],
            ["alias", "a-1", "--user", "ada"],
            ["page", "--user", "ada", "--timestamp", "2026-01-02T03:04:05Z"],
        ]
        for command in commands {
            let result = try Program.penstock(command + ["--socket", daemon.events])
            #expect(result.status == 0, "\(command): \(result.errors)")
            #expect(result.output == "" && result.errors == "")
        }
        try daemon.settle()
        let got = daemon.lines("archive.ndjson").compactMap(jsonObject)
        #expect(got.count == commands.count)
        guard got.count == commands.count else { return }
        #expect(got.map { $0["type"] as? String } == ["track", "identify", "page", "screen", "group", "alias", "page"])
        #expect(got.map { $0["userId"] as? String } == ["ada", "ada", nil, "ada", "ada", "ada", "ada"])
        #expect(got.map { $0["anonymousId"] as? String } == [nil, nil, "a-1", "a-1", nil, nil, nil])
        #expect(got[0]["event"] as? String == "Order Completed")
        #expect((got[0]["properties"] as? [String: Any])?["total"] as? Double == 12.5)
        #expect((got[0]["properties"] as? [String: Any])?["coupon"] as? String == "autumn")
        #expect((got[1]["traits"] as? [String: Any])?["name"] as? String == "Ada Byron")
        #expect(got[2]["name"] as? String == "Home")
        #expect((got[2]["properties"] as? [String: Any])?["path"] as? String == "/")
        #expect(got[3]["name"] as? String == "Welcome")
        #expect(got[4]["groupId"] as? String == "works")
        #expect((got[4]["traits"] as? [String: Any])?["employees"] as? Int == 42)
        #expect(got[5]["previousId"] as? String == "a-1")
        #expect(got[6]["name"] == nil)
        #expect(got[6]["timestamp"] as? String == "2026-01-02T03:04:05Z")
        let ids = got.compactMap { $0["messageId"] as? String }
        #expect(Set(ids).count == commands.count, "each event has its own id")
        #expect(got.allSatisfy { $0["timestamp"] is String })
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [
        ("a=12.5", "12.5"), ("a=-3", "-3"), ("a=1e3", "1e3"), ("a=true", "true"), ("a=null", "null"),
        ("a=twelve", #""twelve""#), (#"a="007""#, #""007""#), ("a=007", #""007""#), ("a=[1,2]", "[1,2]"),
        (#"a={"b":1}"#, #"{"b":1}"#), ("a=", #""""#), ("a=b=c", #""b=c""#), (#"a=say "hi""#, #""say \"hi\"""#),
        ("a=Zähne ⚙", #""Zähne ⚙""#), ("a=12345678901234567890", "12345678901234567890"), ("a=NaN", #""NaN""#),
        ("a= 1", " 1"), ("a=two\nlines", #""two\nlines""#),
    ])
    func `a property is JSON if it parses as JSON`(given: String, json: String) throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let result = try Program.penstock(["track", "E", "--user", "u", "-p", given, "--socket", daemon.events])
        #expect(result.status == 0, "\(result.errors)")
        try daemon.settle()
        let line = daemon.lines("archive.ndjson").first ?? ""
        #expect(line.contains(#""properties":{"a":\#(json)}"#), "\(line)")
        #expect(daemon.terminate() == 0)
    }

    @Test func `a refused event fails the command`() throws {
        let daemon = try TestDaemon(configuration: Self.toFile)
        try daemon.start()
        let cases: [(arguments: [String], status: Int32, says: String)] = [
            (["track", "E"], 1, "refused: no_user_anon_id"),
            (["track", "", "--user", "u"], 1, "refused: event_not_defined"),
            (["identify", "--user", "u", "--timestamp", "yesterday"], 1, "refused: invalid_timestamp"),
            (["track", "E", "--user", "u", "-p", "novalue"], 64, "-p novalue: write KEY=VALUE"),
            (["alias", "a", "--user", "u", "-p", "a=b"], 64, "alias does not accept -p"),
            (["track"], 64, "EVENT"),
        ]
        for one in cases {
            let result = try Program.penstock(one.arguments + ["--socket", daemon.events])
            #expect(result.status == one.status, "\(one.arguments): \(result.errors)")
            #expect(result.errors.uppercased().contains(one.says.uppercased()), "\(one.arguments): \(result.errors)")
            #expect(result.output == "")
        }
        #expect(try daemon.status().sources["apps"]?.accepted == 0)
        #expect(daemon.terminate() == 0)
    }
}
