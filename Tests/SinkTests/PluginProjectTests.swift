import Foundation
import PluginTemplates
import PluginTesting
import Testing

/// `penstock plugins new`: its projects, built as their README.md says.
@Suite struct PluginProjectTests {
    private static let checkout = TestCompiler.sources.deletingLastPathComponent().standardizedFileURL.path

    private let directory: PluginTestDirectory

    init() throws { directory = try PluginTestDirectory() }

    /// Runs `penstock plugins new` in the test's directory.
    private func new(_ arguments: String...) throws -> (status: Int32, output: String) {
        let penstock = try TestCompiler.built("penstock")
        return try TestCompiler.run(["-C", directory.path, penstock, "plugins", "new"] + arguments)
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOfFile: "\(directory.path)/\(file)", encoding: .utf8)
    }

    private var entries: [String] {
        (try? FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()) ?? []
    }

    @Test func `a project in C builds without a warning, passes its own test and keeps its lines`() throws {
        let (status, output) = try new("--language", "c", "my-store_2")
        #expect(status == 0, "\(output)")
        #expect(
            output == """
                wrote my-store_2: my-store_2.c, penstock_plugin.h, Makefile, README.md
                next:
                  cd my-store_2
                  make
                  make test

                """)
        #expect(try text("my-store_2/penstock_plugin.h") == String(contentsOfFile: header, encoding: .utf8))

        let project = directory.path + "/my-store_2"
        let made = try TestCompiler.run([
            "-C", project, "make", "CC=clang", "CFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror", "LDFLAGS=-Wl,-z,defs",
        ])
        #expect(made.status == 0, "\(made.output)")
        let tested = try TestCompiler.run(
            ["-C", project, "make", "test", "PENSTOCK=\(TestCompiler.built("penstock"))"])
        #expect(tested.status == 0, "\(tested.output)")
        #expect(tested.output.contains("12 passed, 0 failed, 1 skipped"), "\(tested.output)")
        let installed = try TestCompiler.run([
            "-C", project, "make", "install", "DESTDIR=\(project)/root", "PREFIX=/usr",
        ])
        #expect(installed.status == 0, "\(installed.output)")
        try LineSink("my-store_2", project + "/root/usr/lib/penstock/plugins/libmy-store_2.so").check()
    }

    @Test func `a project in Swift builds without a warning and keeps its lines`() throws {
        let (status, output) = try new("--language", "swift", "--package", Self.checkout, "my-store")
        #expect(status == 0, "\(output)")
        #expect(output.hasPrefix("wrote my-store: Package.swift, Sources/MyStoreSink/Entry.swift, "), "\(output)")
        #expect(output.contains("next:\n  cd my-store\n  swift build\n  penstock plugins inspect --conformance "))

        let project = directory.path + "/my-store"
        let built = try TestCompiler.run(
            try Self.withoutNetwork() + [
                "swift", "build", "--package-path", project, "--scratch-path", project + "/out",
            ])
        try #require(built.status == 0, "\(built.output)")
        #expect(!built.output.contains("warning:"), "\(built.output)")
        try LineSink("my-store", project + "/out/debug/libmy-store.so").check()
    }

    @Test func `the package of Penstock is found from a directory of the checkout`() throws {
        let (status, output) = try TestCompiler.run([
            "-C", Self.checkout + "/Sources/Events", TestCompiler.built("penstock"), "plugins", "new", "--language",
            "swift", "--directory", directory.path, "store",
        ])
        #expect(status == 0, "\(output)")
        #expect(try text("store/Package.swift").contains(#".package(name: "penstock", path: "\#(Self.checkout)")"#))
        #expect(output.contains("cd \(directory.path)/store\n"), "\(output)")
    }

    @Test func `a package can be a repository's URL`() throws {
        let (status, output) = try new(
            "--language", "swift", "--package", "https://git.example/team/penstock-fork.git", "store")
        #expect(status == 0, "\(output)")
        let manifest = try text("store/Package.swift")
        #expect(manifest.contains(#".package(url: "https://git.example/team/penstock-fork.git", branch: "main")"#))
        #expect(manifest.contains(#".product(name: "PenstockPluginKit", package: "penstock-fork")"#))
    }

    @Test func `without the package of Penstock, the error says what to give`() throws {
        for arguments in [[], ["--package", "/usr"]] {
            let penstock = try TestCompiler.built("penstock")
            let (status, output) = try TestCompiler.run(
                ["-C", directory.path, penstock, "plugins", "new", "--language", "swift"] + arguments + ["store"])
            #expect(status == 1)
            #expect(output.contains("give a checkout's directory or a repository's URL with --package"), "\(output)")
        }
        #expect(entries == [])
    }

    @Test(arguments: ["", "a b", "a/b", "../a", "ä", "a.b", "a\"b", String(repeating: "a", count: 65)])
    func `an unusable name is refused`(name: String) throws {
        let (status, output) = try new("--language", "c", name)
        #expect(status == 64)
        #expect(output.contains("\"\(name)\" is not the name of a plugin: a name has 1 to 64 letters"), "\(output)")
        #expect(entries == [])
    }

    /// Otherwise SwiftPM builds Penstock's own library of that name, and the new plugin would hide the shipped one.
    @Test func `the names of Penstock's own libraries are refused`() throws {
        let manifest = try String(contentsOfFile: Self.checkout + "/Package.swift", encoding: .utf8)
        let products = manifest.matches(of: /\.library\(name: "([^"]+)", type: \.dynamic/).map { String($0.1) }
        #expect(Set(PluginName.reserved) == Set(products + ["penstock"]))
        for name in PluginName.reserved {
            let (status, output) = try new("--language", "c", name)
            #expect(status == 64)
            #expect(output.contains("\(name) is the name of one of Penstock's own libraries"), "\(output)")
        }
        #expect(entries == [])
    }

    @Test func `an existing directory or file is not touched`() throws {
        try directory.add("taken", Data("mine".utf8))
        try FileManager.default.createDirectory(atPath: directory.path + "/empty", withIntermediateDirectories: false)
        for name in ["taken", "empty"] {
            let (status, output) = try new("--language", "c", name)
            #expect(status == 1)
            #expect(output.contains("\(name) exists already: choose another name"), "\(output)")
        }
        let (status, output) = try new("--language", "c", "--directory", "missing", "store")
        #expect(status == 1)
        #expect(output.contains("missing does not exist: create the directory"), "\(output)")
        #expect(entries == ["empty", "taken"])
        #expect(try text("taken") == "mine")
    }

    @Test(arguments: [
        ("lines", "LinesSink"), ("my-store_2", "MyStore2Sink"), ("class", "ClassSink"), ("3d", "Plugin3dSink"),
        ("_", "Sink"), ("penstockPluginKit", "PenstockPluginKitSink"),
    ])
    func `a plugin's Swift module is an identifier`(name: String, module: String) {
        #expect(PluginName(name)?.module == module)
    }

    private var header: String { TestCompiler.headers + "/penstock_plugin.h" }

    /// For `env`: git finds each dependency in the clones of the build that made this test.
    private static func withoutNetwork() throws -> [String] {
        let clones = URL(fileURLWithPath: try TestCompiler.built("../../repositories")).standardizedFileURL.path
        var settings = [("protocol.allow", "never"), ("protocol.file.allow", "always")]
        for name in try FileManager.default.contentsOfDirectory(atPath: clones).sorted() {
            let clone = clones + "/" + name
            let origin = try TestCompiler.run(["git", "-C", clone, "config", "--get", "remote.origin.url"]).output
            settings.append(("url.file://\(clone).insteadOf", origin.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
        return ["GIT_CONFIG_COUNT=\(settings.count)"]
            + settings.enumerated().flatMap { index, setting in
                ["GIT_CONFIG_KEY_\(index)=\(setting.0)", "GIT_CONFIG_VALUE_\(index)=\(setting.1)"]
            }
    }
}
