import Foundation
import Testing

/// What bash offers for an unfinished command line, by the script that `make install` installs.
@Suite struct CompletionTests {
    /// Loads the script and asks for completions of the last word.
    private func offers(_ words: String..., in directory: String = "/tmp") throws -> [String] {
        try offers(words, in: directory)
    }

    private func offers(_ words: [String], in directory: String = "/tmp") throws -> [String] {
        let script = """
            PATH=$1:$PATH; shift
            source <(penstock --generate-completion-script bash)
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
            _penstock penstock "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let result = try Program.run(
            "env", ["-C", directory, "bash", "-c", script, "bash", TestDaemon.binaries, "penstock"] + words)
        #expect(result.errors == "", "\(words)")
        return result.output.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("-") }
    }

    private static let configuration = """
        routes: [ { to: [archive, orders] } ]
        destinations:
          archive: { file: archive.ndjson }
          orders: { file: orders.ndjson }
        """

    @Test(arguments: [["resume"], ["replay"], ["dead-letters", "list"], ["dead-letters", "drop"]])
    func `the destinations of the running daemon are offered`(command: [String]) throws {
        let daemon = try TestDaemon(configuration: Self.configuration)
        try daemon.start()
        let line = command + ["--control", daemon.control]
        #expect(try offers(line + [""]) == ["archive", "orders"])
        #expect(try offers(line + ["or"]) == ["orders"])
    }

    @Test func `without a daemon, no destination is offered, and no error is printed`() throws {
        #expect(try offers("resume", "--control", "/nonexistent/control.sock", "") == [])
    }

    @Test func `explain offers the destinations of its configuration`() throws {
        let daemon = try TestDaemon(configuration: Self.configuration)
        #expect(
            try offers("explain", "--config", daemon.configurationFile, "--destination", "") == ["archive", "orders"])
    }

    @Test func `presets show offers the shipped presets and those beside the configuration`() throws {
        #expect(try offers("presets", "show", "mix") == ["mixpanel"])
        let daemon = try TestDaemon(configuration: Self.configuration)
        try FileManager.default.createDirectory(atPath: daemon.path("presets"), withIntermediateDirectories: false)
        let own = try Program.penstock(["presets", "show", "webhook"]).output
        try own.write(toFile: daemon.path("presets/mine.yaml"), atomically: true, encoding: .utf8)
        #expect(try offers("presets", "show", "--config", daemon.configurationFile, "mi") == ["mine", "mixpanel"])
    }

    @Test func `plugins inspect offers the plugins of a directory`() throws {
        let offered = try offers("plugins", "inspect", "./libsq", in: TestDaemon.binaries)
        #expect(offered == ["./libsqlite.so"])
    }

    @Test func `files are offered where a file is expected`() throws {
        let daemon = try TestDaemon(configuration: Self.configuration)
        for (name, contents) in [("a.ndjson", "{}"), ("b.txt", "")] {
            try contents.write(toFile: daemon.path(name), atomically: true, encoding: .utf8)
        }
        #expect(try offers("send", "", in: daemon.directory) == ["a.ndjson"])
        #expect(try offers("check", "--config", "", in: daemon.directory) == ["penstock.yaml"])
    }

    /// bash expands the words that it gets.
    @Test(arguments: ["$(touch ran).so", "`touch ran`.so", "a b.so", "a;touch ran.so", "a\"$(touch ran)\".so"])
    func `a name that bash would run is not offered`(name: String) throws {
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for file in [name, "sound.so"] { try Data().write(to: URL(fileURLWithPath: directory + "/" + file)) }
        #expect(try offers("plugins", "inspect", "./", in: directory) == ["./sound.so"])
        #expect(!FileManager.default.fileExists(atPath: directory + "/ran"))
    }
}
