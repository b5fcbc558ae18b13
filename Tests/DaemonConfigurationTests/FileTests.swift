import Foundation
import TestSupport
import Testing

@testable import DaemonConfiguration

/// Files on disk: conf.d, relative paths, unreadable files.
@Suite struct FileTests {
    private let main = """
        sources: { apps: { socket: run/s } }
        routes: [ { name: first, to: [a] } ]
        destinations: { a: { file: out } }
        """

    @Test func `maps merge and routes append in the order of the files' names`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("penstock.yaml", main)
        try directory.write("conf.d/20-b.yaml", "routes: [ { name: third, to: [b] } ]\nsources: { apps: { group: g } }")
        try directory.write(
            "conf.d/10-a.yaml", "routes: [ { name: second, to: [b] } ]\ndestinations: { b: { file: out } }")
        try directory.write("conf.d/README", "not: [yaml")
        try directory.write("conf.d/.hidden.yaml", "not: [yaml")
        let result = ConfigurationLoader(credentialsDirectory: nil).load(file: file)
        #expect(result.diagnostics.isEmpty)
        let configuration = try #require(result.configuration)
        #expect(configuration.routes.map(\.name) == ["first", "second", "third"])
        #expect(configuration.sources == [.init(name: "apps", socket: directory.path + "/run/s", group: "g")])
        let paths = configuration.destinations.map { destination in
            if case .file(let file) = destination.kind { file.path.text } else { "" }
        }
        #expect(paths == [directory.path + "/out", directory.path + "/conf.d/out"])
    }

    @Test(arguments: [
        ("x.yml", "rename it to x.yaml; to keep it here unread, rename it to x.yml.disabled"),
        ("X.YAML", "rename it to X.yaml; to keep it here unread, rename it to X.YAML.disabled"),
        ("10-shop.json", "rename it to 10-shop.yaml; to keep it here unread, rename it to 10-shop.json.disabled"),
        ("shop", "rename it to shop.yaml; to keep it here unread, rename it to shop.disabled"),
        ("a.yaml.bak", nil), ("a.yaml~", nil), (".a.yaml.swp", nil), (".a.yaml", nil), ("README.md", nil),
        ("a.yaml.dpkg-dist", nil),
        ("a.yml.disabled", nil), ("#a.yaml#", nil),
    ])
    func `an unread file of conf.d is listed, and reported unless disabled`(_ name: String, _ hint: String?) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("penstock.yaml", main)
        let read = try directory.write("conf.d/a.yaml", "{}")
        let other = try directory.write("conf.d/" + name, "routes: [ { to: [nowhere] } ]")
        let result = ConfigurationLoader(credentialsDirectory: nil).load(file: file)
        #expect(result.configuration != nil)
        #expect(result.files == [file, read])
        #expect(result.unread.map(\.path) == [other])
        #expect(result.warnings.map(\.hint) == (hint == nil ? [] : [hint]))
        #expect(
            result.warnings.allSatisfy {
                $0.place.name == "\(other):1:1" && $0.message.hasPrefix("this file is not read: ")
            })
    }

    @Test func `a directory in conf.d is not read, and the user's plan and preset are listed`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "penstock.yaml", main.replacing("file: out", with: "preset: mine") + "\nplan: plan.yaml")
        let inner = try directory.write("conf.d/more/a.yaml", "{}")
        let preset = try directory.write(
            "presets/mine.yaml", "title: Mine\ndescription: d\ndestination: { file: /d/out }")
        let plan = try directory.write("plan.yaml", "version: 1\nname: shop\nevents: []")
        let result = ConfigurationLoader(credentialsDirectory: nil).load(file: file)
        #expect(result.files == [file, plan, preset])
        #expect(result.unread.map(\.reason) == ["it is a directory"])
        #expect(result.warnings.map(\.message) == ["this file is not read: it is a directory"], "\(result.diagnostics)")
        #expect(!inner.isEmpty)
    }

    @Test func `a key set in two files names both places`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("penstock.yaml", main)
        let other = try directory.write("conf.d/a.yaml", "destinations: { a: { file: other } }\nplugins: {}")
        let result = ConfigurationLoader(credentialsDirectory: nil).load(file: file)
        #expect(
            result.diagnostics.map(\.description) == [
                """
                \(other):1:22: error: "destinations.a.file" is set twice
                destinations: { a: { file: other } }
                                     ^~~~
                hint: remove one of the two
                \(file):3:22: note: it was set first here
                destinations: { a: { file: out } }
                                     ^~~~
                """
            ])
    }

    @Test func `errors of all files are reported at once, without misleading ones`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("penstock.yaml", main + "\njournal: { sync: x }")
        let broken = try directory.write("conf.d/a.yaml", "destinations: { b: [ }")
        let wrong = try directory.write("conf.d/b.yaml", "routes: [ { to: [b], nmae: x } ]")
        let list = ConfigurationLoader(credentialsDirectory: nil).load(file: file).diagnostics
        // There is no error about the destination `b`, which is in the broken file.
        #expect(list.map(\.place.file) == [file, broken, wrong])
        #expect(list.allSatisfy { $0.severity == .error })
    }

    @Test func `an empty file beside an invalid one hides no error`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("penstock.yaml", main + "\ncontrol: {}\ncontrol: {}")
        try directory.write("conf.d/a.yaml", "# nothing")
        try directory.write("conf.d/b.yaml", "routes: [ { to: [b] } ]")
        let list = ConfigurationLoader(credentialsDirectory: nil).load(file: file).errors
        #expect(list.map(\.message) == ["\"control\" is set twice", "there is no destination \"b\""])
    }

    @Test func `the configuration's relative path is relative to the working directory`() throws {
        let result = ConfigurationLoader().load(text: "sources: { a: { socket: s } }", named: "some/p.yaml")
        #expect(result.configuration?.sources.map(\.socket) == [FileManager.default.currentDirectoryPath + "/some/s"])
    }

    @Test func `a section without content is an empty section`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("penstock.yaml", main + "\njournal:\nplugins:\n")
        try directory.write("conf.d/a.yaml", "journal: { sync: never }\nsources:\n")
        try directory.write("conf.d/b.yaml", "# nothing but a comment\n")
        let result = ConfigurationLoader(credentialsDirectory: nil).load(file: file)
        #expect(result.diagnostics.isEmpty)
        #expect(result.configuration?.journal.sync == .never)
        #expect(result.configuration?.sources.count == 1)
    }

    @Test func `a missing, unreadable, oversized or binary file has its own error`() throws {
        let directory = try TemporaryDirectory()
        let loader = ConfigurationLoader(credentialsDirectory: nil)
        let missing = loader.load(file: directory.path + "/none.yaml")
        #expect(missing.configuration == nil)
        #expect(missing.diagnostics.map(\.message) == ["cannot be read: no such file or directory"])
        #expect(loader.load(file: directory.path).errors.map(\.message) == ["cannot be read: it is a directory"])

        let large = try directory.write("large.yaml", String(repeating: "# comment\n", count: 120_000))
        #expect(
            loader.load(file: large).diagnostics.map(\.message) == [
                "is larger than the 1 MiB that a configuration file may have"
            ])

        let latin = directory.path + "/latin.yaml"
        try Data([0x61, 0x3A, 0x20, 0x0A, 0x62, 0xFC, 0x0A]).write(to: URL(fileURLWithPath: latin))
        let place = try #require(loader.load(file: latin).diagnostics.first?.place)
        #expect((place.line, place.column) == (2, 2))

        let control = try directory.write("control.yaml", "a: 1\nb: \u{1B}[31m\n")
        let escape = try #require(loader.load(file: control).diagnostics.first)
        #expect(escape.message == "a character that YAML does not allow" && escape.place.name == "\(control):2:4")
        #expect(!escape.description.contains("\u{1B}"))
    }

    @Test func `line ends of other systems do not change the places`() {
        let text = "\u{FEFF}# one\r\n# two\r\nsuorces: {}\r\n"
        #expect(load(text).errors.map { "\($0.place.line):\($0.place.column)" } == ["3:1"])
        #expect(load(text).errors.first?.place.text == "suorces: {}")
    }
}
