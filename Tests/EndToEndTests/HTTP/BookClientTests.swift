import Control
import Foundation
import Testing

/// The programs and commands of the book's pages about sending events, and the outputs that the book shows.
@Suite struct BookClientTests {
    /// A page's section "Clients", for one language.
    struct Client: CustomTestStringConvertible {
        var page: String
        var language: String
        var testDescription: String { "\(page), \(language)" }
    }

    private static let clients =
        ["Shell", "Python", "Node.js", "Go", "C", "Swift"].map { Client(page: "SendingEvents", language: $0) }
        + ["Python", "Node.js", "Go", "C", "Swift"].map { Client(page: "SendingOverHTTP", language: $0) }

    /// A line that starts with `$ `, the lines that continue it, and what it prints.
    private struct Command: Equatable {
        var text: String
        var output = ""
    }

    private static func page(_ name: String) throws -> String {
        try String(
            contentsOfFile: Repository.root + "/Sources/penstockd/Penstock.docc/\(name).md", encoding: .utf8)
    }

    /// The blocks of code in a text, with their languages.
    private static func blocks(_ text: some StringProtocol) -> [(language: String, text: String)] {
        ("\n" + text).components(separatedBy: "\n```").enumerated().filter { $0.offset % 2 == 1 }.map { block in
            let lines = block.element.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(lines[0]), lines.count > 1 ? lines[1] + "\n" : "")
        }
    }

    private static func commands(_ session: String) -> [Command] {
        var commands: [Command] = []
        var isOpen = false
        for line in session.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if line.hasPrefix("$ ") {
                commands.append(Command(text: String(line.dropFirst(2))))
                isOpen = true
            } else if isOpen, line.hasPrefix("    ") {
                commands[commands.count - 1].text += "\n" + line
            } else if !commands.isEmpty {
                commands[commands.count - 1].output += line + "\n"
                isOpen = false
            }
        }
        return commands
    }

    /// Runs a command as bash does, in the daemon's directory.
    private func run(_ command: String, _ daemon: TestDaemon) throws -> Program {
        try Program.run(
            "env",
            [
                "-C", daemon.directory, "NO_PROXY=127.0.0.1", "PENSTOCK_SOCKET=" + daemon.events,
                "PENSTOCK_URL=" + daemon.url(), "PENSTOCK_WRITE_KEY=" + TestDaemon.writeKey,
                "WRITE_KEY=" + TestDaemon.writeKey,
                // Go keeps compiled packages of its library from one run to the next.
                "GOCACHE=" + Repository.root + "/.build/go-cache", "GOFLAGS=", "GO111MODULE=off", "GOTOOLCHAIN=local",
                "timeout", "-s", "KILL", "300", "bash", "-c", command,
            ])
    }

    @Test(arguments: clients)
    func `a client of the book works and prints what the book shows`(_ client: Client) throws {
        let clients = try #require(try Self.page(client.page).components(separatedBy: "\n## Clients\n").last)
        let section = try #require(
            clients.components(separatedBy: "\n### ").first { $0.hasPrefix(client.language + "\n") })
        let blocks = Self.blocks(section)
        try #require(blocks.count == 2 && !blocks[0].language.isEmpty && blocks[1].language.isEmpty)
        let commands = Self.commands(blocks[1].text)
        let file = try #require(commands.last?.text.firstMatch(of: /send\.[a-z]+/)?.output)

        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        try blocks[0].text.write(toFile: daemon.path(String(file)), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: daemon.path(String(file)))
        for command in commands {
            // The book shows an input file as a person would.
            if let name = command.text.wholeMatch(of: /cat ([a-z.]+)/)?.output.1 {
                try command.output.write(toFile: daemon.path(String(name)), atomically: true, encoding: .utf8)
                continue
            }
            let result = try run(command.text, daemon)
            #expect(result.status == 0, "\(result.output)\(result.errors)")
            #expect(result.output == command.output, "\(result.errors)")
        }
        let source = try daemon.status().sources["apps"]
        #expect(source?.refusedByReason == ["no_user_anon_id": 1])
        try daemon.settle(accepted: client.language == "C" || section.contains("2 of 2 lines") ? 1 : 2)
        let events = daemon.archived()
        #expect(events.first?["event"] as? String == "Order Completed" && events.first?["userId"] as? String == "u1")
        #expect(events.count == 1 || (events.count == 2 && events[1]["name"] as? String == "Receipt"))

        guard client.page == "SendingOverHTTP" else { return }
        let command = try #require(commands.last?.text)
        let wrong = try run("PENSTOCK_WRITE_KEY=wrong; " + command, daemon)
        #expect(wrong.status == 1, "\(wrong)")
        #expect((wrong.output + wrong.errors).contains("401") && (wrong.output + wrong.errors).contains("write key"))
        #expect(try daemon.refused("unknown_write_key") == 1, "one request")
        #expect(daemon.terminate() == 0)
    }

    @Test func `curl prints the answers that the book shows`() throws {
        let page = try #require(try Self.page("SendingOverHTTP").components(separatedBy: "\n## Clients\n").first)
        let commands = Self.blocks(page).filter(\.language.isEmpty).flatMap { Self.commands($0.text) }
        #expect(commands.count == 5)
        let daemon = try TestDaemon(httpSource: TestDaemon.httpSource())
        try daemon.start()
        defer { daemon.kill9() }
        for command in commands {
            let text = command.text.replacingOccurrences(of: "/run/penstock/events.sock", with: daemon.events)
                .replacingOccurrences(of: "http://127.0.0.1:8377", with: try daemon.url())
            let result = try run(text, daemon)
            #expect(result.status == 0 && result.output == command.output, "\(command.text): \(result)")
        }
        try daemon.settle(accepted: 3)
        #expect(daemon.terminate() == 0)
    }
}
