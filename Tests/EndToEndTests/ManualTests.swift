import Foundation
import Testing

/// The man pages and completions that `make install` installs.
@Suite struct ManualTests {
    private static let pages = ["penstock.1", "penstockd.8", "penstock.yaml.5"]

    /// What swift-argument-parser prints of a program.
    private func dump(_ program: String) throws -> String {
        let result = try Program.run(TestDaemon.binaries + "/" + program, ["--experimental-dump-help"])
        try #require(result.status == 0, "\(result.errors)")
        return result.output
    }

    private func page(_ name: String) throws -> String {
        let program = name == "penstockd.8" ? "penstockd" : "penstock"
        let result = try Program.run(
            TestDaemon.binaries + "/manual", [name, "1.2.3"], input: name.hasSuffix(".5") ? "" : try dump(program))
        try #require(result.status == 0, "\(result.errors)")
        return result.output
    }

    /// As it is read on a terminal, in one line.
    private func read(_ name: String) throws -> String {
        let formatted = try Program.run("groff", ["-man", "-Tutf8", "-ww", "-rLL=1000n", "-P-c", "-P-b", "-P-u"], input: try page(name))
        #expect(formatted.status == 0 && formatted.errors == "", "\(name): \(formatted.errors)")
        return formatted.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test(arguments: pages) func aPageIsFormattedWithoutAWarning(name: String) throws {
        let text = try read(name)
        for section in ["Name", "See also", "penstock 1.2.3"] { #expect(text.contains(section), "\(name): \(text.prefix(400))") }
        #expect(!text.contains("\\"), "no escape is left over")
    }

    @Test func everyCommandAndOptionAndExitStatusIsInThePage() throws {
        let text = try read("penstock.1")
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(dump("penstock").utf8)) as? [String: Any])
        func look(_ command: [String: Any], _ path: String) throws {
            let name = (path.isEmpty ? "" : path + " ") + (try #require(command["commandName"] as? String))
            let below = (command["subcommands"] as? [[String: Any]] ?? []).filter { $0["commandName"] as? String != "help" }
            if !below.isEmpty { return try below.forEach { try look($0, name) } }
            #expect(text.contains(name), "\(name)")
            #expect(text.contains(command["abstract"] as? String ?? "?"), "\(name)")
            for argument in command["arguments"] as? [[String: Any]] ?? [] where argument["shouldDisplay"] as? Bool == true {
                for option in argument["names"] as? [[String: String]] ?? [] where option["kind"] == "long" {
                    guard let option = option["name"], !["help", "version"].contains(option) else { continue }
                    #expect(text.contains("--\(option)"), "\(name) --\(option)")
                }
            }
            let discussion = command["discussion"] as? String ?? ""
            guard let status = discussion.firstRange(of: "Exit status: ") else { return }
            let words = discussion[status.upperBound...].prefix { $0 != "\n" }.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains("Exit status \(words)"), "\(name): \(words)")
        }
        try look(try #require(tree["command"] as? [String: Any]), "")
        #expect(text.contains("64 The command line was not understood."))
        #expect(text.contains("Exit status 0 whole, 1 damaged, 2 unreadable."))
        #expect(try read("penstockd.8").contains("78 for an invalid configuration"))
    }

    @Test func everyKeyThatTheSchemaKnowsIsInThePage() throws {
        let text = try read("penstock.yaml.5")
        let schema = try Program.penstock(["check", "--schema"])
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(schema.output.utf8)) as? [String: Any])
        let properties = try #require(tree["properties"] as? [String: [String: Any]])
        for (name, section) in properties {
            #expect(text.contains(name))
            for key in (section["properties"] as? [String: Any] ?? [:]).keys { #expect(text.contains("\(name).\(key)")) }
        }
        for key in [
            "destinations.NAME.keep.files", "destinations.NAME.file a path", "sources.NAME.socket", "_missing", "name_case", "$date",
        ] { #expect(text.contains(key), "\(key)") }
    }

    @Test(arguments: ["penstock", "penstockd"], ["bash", "zsh", "fish"])
    func completionsAreMade(program: String, shell: String) throws {
        let script = try Program.run(TestDaemon.binaries + "/" + program, ["--generate-completion-script", shell])
        #expect(script.status == 0, "\(script.errors)")
        #expect(script.output.contains(program == "penstock" ? "dead-letters" : "config"))
        guard shell == "bash" else { return }
        let checked = try Program.run("bash", ["-n"], input: script.output)
        #expect(checked.status == 0, "\(checked.errors)")
    }

    @Test func whatTheMakefileInstallsIsWhatIsTestedHere() throws {
        let makefile = try String(contentsOfFile: Repository.root + "/Makefile", encoding: .utf8)
        for page in Self.pages { #expect(makefile.contains("manual \(page) ")) }
        #expect(makefile.contains("--generate-completion-script"))
    }
}
