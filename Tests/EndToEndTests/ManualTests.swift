import Foundation
import Testing

/// The man pages and completions that `make install` installs.
@Suite struct ManualTests {
    private static let pages = ["penstock.1", "penstockd.8", "penstock.yaml.5"]

    /// The description of a program that swift-argument-parser prints.
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

    /// The page as a terminal shows it, in one line.
    private func read(_ name: String) throws -> String {
        let formatted = try Program.run(
            "groff", ["-man", "-Tutf8", "-ww", "-rLL=1000n", "-P-c", "-P-b", "-P-u"], input: try page(name))
        #expect(formatted.status == 0 && formatted.errors == "", "\(name): \(formatted.errors)")
        return formatted.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    @Test(arguments: pages) func `a man page is formatted without a warning`(name: String) throws {
        let text = try read(name)
        for section in ["Name", "Files", "Examples", "See also", "penstock 1.2.3"] {
            #expect(text.contains(section), "\(name): \(text.prefix(400))")
        }
        #expect(!text.contains("\\"), "no escape remains")
    }

    @Test func `the page describes every command, option and exit status`() throws {
        let text = try read("penstock.1")
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(dump("penstock").utf8)) as? [String: Any])
        func look(_ command: [String: Any], _ path: String) throws {
            let name = (path.isEmpty ? "" : path + " ") + (try #require(command["commandName"] as? String))
            let below = (command["subcommands"] as? [[String: Any]] ?? []).filter {
                $0["commandName"] as? String != "help"
            }
            if !below.isEmpty { return try below.forEach { try look($0, name) } }
            #expect(text.contains(name), "\(name)")
            #expect(text.contains(command["abstract"] as? String ?? "?"), "\(name)")
            for argument in command["arguments"] as? [[String: Any]] ?? []
            where argument["shouldDisplay"] as? Bool == true {
                for option in argument["names"] as? [[String: String]] ?? [] where option["kind"] == "long" {
                    guard let option = option["name"], !["help", "version"].contains(option) else { continue }
                    #expect(text.contains("--\(option)"), "\(name) --\(option)")
                }
            }
            let discussion = command["discussion"] as? String ?? ""
            guard let status = discussion.firstRange(of: "Exit status: ") else { return }
            let words = discussion[status.upperBound...].prefix { $0 != "\n" }.split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
            #expect(text.contains("Exit status \(words)"), "\(name): \(words)")
        }
        try look(try #require(tree["command"] as? [String: Any]), "")
        #expect(text.contains("64 The command line was not understood."))
        #expect(text.contains("Exit status 0 whole, 1 damaged, 2 unreadable."))
        #expect(try read("penstockd.8").contains("78 for an invalid configuration"))
    }

    @Test func `the page describes every key of the schema`() throws {
        let text = try read("penstock.yaml.5")
        let schema = try Program.penstock(["check", "--schema"])
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(schema.output.utf8)) as? [String: Any])
        let properties = try #require(tree["properties"] as? [String: [String: Any]])
        for (name, section) in properties {
            #expect(text.contains(name))
            for key in (section["properties"] as? [String: Any] ?? [:]).keys {
                #expect(text.contains("\(name).\(key)"))
            }
        }
        for key in [
            "destinations.NAME.keep.files", "destinations.NAME.file a path", "sources.NAME.socket", "_missing",
            "name_case", "$date",
        ] { #expect(text.contains(key), "\(key)") }
    }

    @Test func `the book's reference of the configuration has the keys of the program`() throws {
        let page = try Program.run(TestDaemon.binaries + "/manual", ["Configuration.md", "1.2.3"], input: "")
        let book = Repository.root + "/Sources/penstockd/Penstock.docc/Configuration.md"
        #expect(
            try page.output == String(contentsOfFile: book, encoding: .utf8),
            "write it anew: .build/debug/manual Configuration.md 0 >Sources/penstockd/Penstock.docc/Configuration.md")
    }

    @Test(arguments: ["Filters", "Mapping", "Scripts", "Transforms"])
    func `a page of the book is formatted as a man page`(name: String) throws {
        let path = Repository.root + "/Sources/penstockd/Penstock.docc/\(name).md"
        let page = try Program.run("lowdown", ["-s", "-Tman", "-M", "title=penstock", "-M", "section=7", path])
        try #require(page.status == 0, "\(page.errors)")
        let formatted = try Program.run("groff", ["-t", "-man", "-Tutf8", "-K", "utf-8"], input: page.output)
        #expect(formatted.status == 0, "\(formatted.errors)")
        #expect(formatted.output.count > 1000)
    }

    @Test(arguments: ["penstock", "penstockd"], ["bash", "zsh", "fish"])
    func `completions are generated for each shell`(program: String, shell: String) throws {
        let script = try Program.run(TestDaemon.binaries + "/" + program, ["--generate-completion-script", shell])
        #expect(script.status == 0, "\(script.errors)")
        #expect(script.output.contains(program == "penstock" ? "dead-letters" : "config"))
        guard shell == "bash" else { return }
        let checked = try Program.run("bash", ["-n"], input: script.output)
        #expect(checked.status == 0, "\(checked.errors)")
    }

    @Test func `make install installs the pages that are tested here`() throws {
        let makefile = try String(contentsOfFile: Repository.root + "/Makefile", encoding: .utf8)
        for page in Self.pages { #expect(makefile.contains("manual \(page) ")) }
        #expect(makefile.contains("--generate-completion-script"))
    }
}
