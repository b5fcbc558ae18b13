import Control
import Foundation
import TestSupport
import Testing

/// Every option of `penstock` that takes a value, with every extreme value. The program itself lists the options.
@Suite struct ExtremeOptionTests {
    struct Option: Sendable, CustomTestStringConvertible {
        var command: [String]
        /// The other arguments that the command requires.
        var arguments: [String]
        var name: String
        var testDescription: String { (command + [name]).joined(separator: " ") }
    }

    /// Options that take file names or texts.
    private static let others: Set<String> = [
        "config", "control", "socket", "directory", "junit", "output", "where", "language",
    ]

    /// They take their options from one declaration with `track`, which stands for them.
    private static let likeTrack = ["identify", "page", "screen", "group", "alias"]

    private static func options() throws -> [Option] {
        let help = try Program.penstock(["--experimental-dump-help"])
        let root = try #require(jsonObject(help.output)?["command"] as? [String: Any])
        var found: [Option] = []
        func walk(_ command: [String: Any], _ path: [String]) {
            let own = command["arguments"] as? [[String: Any]] ?? []
            let needed = own.filter { $0["kind"] as? String == "positional" && $0["isOptional"] as? Bool != true }
            // `replay` has an optional destination because of `--list`.
            let arguments = path == ["replay"] ? ["archive"] : needed.map { _ in "archive" }
            for argument in own where argument["kind"] as? String == "option" {
                let names = argument["names"] as? [[String: Any]] ?? []
                guard let name = names.first?["name"] as? String, !others.contains(name) else { continue }
                found.append(
                    Option(command: path, arguments: arguments, name: name.count == 1 ? "-\(name)" : "--\(name)"))
            }
            for sub in command["subcommands"] as? [[String: Any]] ?? [] {
                if let name = sub["commandName"] as? String, name != "help" { walk(sub, path + [name]) }
            }
        }
        walk(root, [])
        return found
    }

    private static let values =
        [
            "-9223372036854775808", "-1", "0", "9223372036854775807", "9223372036854775808", "18446744073709551615",
            "18446744073709551616", "1e400", "NaN",
        ]
        + [
            "9223372036854775807d", "9223372036854775807s", "-9223372036854775808w", "106752d", "0s", "1600-01-01",
            "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:60-23:59", "10000-01-01",
        ]

    @Test func `every option accepts an extreme value or reports an error`() throws {
        let daemon = try TestDaemon(
            configuration: "routes: [ { to: [archive] } ]\ndestinations: { archive: { file: archive.ndjson } }")
        try daemon.start()
        #expect(try daemon.penstock("send", "--acks", input: events(0..<10)).status == 0)
        try daemon.settle()
        let options = try Self.options()
        let names = Set(options.map(\.testDescription))
        #expect(
            names.isSuperset(of: [
                "replay --from", "replay --until", "replay --rate", "journal dump --limit", "explain --from-journal",
            ]), "\(names.sorted())")
        func own(_ command: String) -> [String] { options.filter { $0.command == [command] }.map(\.name) }
        for command in Self.likeTrack { #expect(own(command) == own("track") && !own(command).isEmpty) }
        for option in options where !Self.likeTrack.contains(option.command[0]) {
            for value in Self.values {
                var arguments = option.command + option.arguments + [option.name, value]
                switch option.command[0] {
                case "dead-letters", "status", "reload": arguments += ["--control", daemon.control]
                case "replay":
                    arguments +=
                        ["--control", daemon.control, "--dry-run"] + (option.name == "--from" ? [] : ["--from", "1h"])
                case "journal", "explain", "check", "test": arguments += ["--config", daemon.configurationFile]
                default: arguments += ["--socket", daemon.events]
                }
                let ended = try Program.penstock(arguments, input: event(1) + "\n")
                #expect(!ended.wasKilled && ended.status < 100, "\(arguments): \(ended.status) \(ended.errors)")
            }
        }
        #expect(try daemon.status().destinations.count == 1)
        #expect(daemon.terminate() == 0, "the daemon never restarted")
    }
}
