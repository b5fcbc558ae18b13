import Foundation
import TestSupport
import Testing

/// The documentation for an application's developers: every public name has a comment, every link resolves, and all
/// code in the articles compiles or is in a file that does.
@Suite struct DocumentationTests {
    private static let catalog = SamplePackage.root + "/Sources/Penstock/Penstock.docc"
    private static let modules = Binaries.directory + "/Modules"

    // MARK: Symbols

    private struct SymbolGraph: Decodable {
        struct Symbol: Decodable {
            struct Comment: Decodable {}
            var pathComponents: [String]
            var docComment: Comment?
        }
        var symbols: [Symbol]
    }

    /// Writes the symbol graph of a module into a directory and returns its symbols: its own, and those that it adds to
    /// other modules' types.
    private func symbols(of module: String, in directory: TemporaryDirectory) async throws -> [SymbolGraph.Symbol] {
        let result = try await ProgramResult.run(
            "swift",
            ["symbolgraph-extract", "-module-name", module, "-I", Self.modules, "-target", try await Self.target()]
                + ["-skip-synthesized-members", "-minimum-access-level", "public", "-output-dir", directory.path])
        try #require(result.status == 0, "\(result.errors)")
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter {
            $0.hasSuffix(".symbols.json")
        }
        return try files.flatMap { file in
            try JSONDecoder().decode(
                SymbolGraph.self, from: Data(contentsOf: URL(filePath: directory.path + "/" + file))
            ).symbols
        }
    }

    /// The platform of the modules, as the compiler names it.
    private static func target() async throws -> String {
        struct Information: Decodable {
            struct Target: Decodable { var unversionedTriple: String }
            var target: Target
        }
        let output = try await ProgramResult.run("swiftc", ["-print-target-info"]).output
        return try JSONDecoder().decode(Information.self, from: Data(output.utf8)).target.unversionedTriple
    }

    @Test(arguments: ["Penstock", "PenstockHTTP", "PenstockTesting"])
    func `every public symbol is documented and listed, and every link resolves`(module: String) async throws {
        let directory = try TemporaryDirectory()
        let symbols = try await symbols(of: module, in: directory)
        #expect(symbols.count > 20)
        #expect(symbols.filter { $0.docComment == nil }.map { $0.pathComponents.joined(separator: ".") } == [])

        let catalog = SamplePackage.root + "/Sources/\(module)/\(module).docc"
        let page = try String(contentsOfFile: "\(catalog)/\(module).md", encoding: .utf8)
        let names = Set(symbols.compactMap { $0.pathComponents.count == 1 ? $0.pathComponents[0] : nil })
        #expect(names.filter { !page.contains("- ``\($0)") } == [])

        let converted = try await ProgramResult.run(
            "docc",
            [
                "convert", catalog, "--additional-symbol-graph-dir", directory.path, "--output-path",
                directory.path + "/archive",
            ]
                + ["--fallback-display-name", module, "--fallback-bundle-identifier", module]
                + ["--warnings-as-errors", "--disable-parameters-and-returns-validation"])
        #expect(converted.status == 0, "\(converted.output)\(converted.errors)")
    }

    // MARK: Code

    /// The articles with their own code. The tutorial's code is in Tests/SamplePackage.
    private static let articles: [String] = {
        let files = FileManager.default.enumerator(atPath: catalog)?.compactMap { $0 as? String } ?? []
        return files.filter { $0.hasSuffix(".md") && !$0.hasSuffix("FromAnEmptyPackage.md") }.sorted()
    }()

    /// A piece of code and its second-level section.
    private struct Block {
        var section = ""
        var language: String
        var text = ""
    }

    private func blocks(of article: String) throws -> [Block] {
        var blocks: [Block] = []
        var section = ""
        var isCode = false
        for line in try String(contentsOfFile: Self.catalog + "/" + article, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("```") {
                isCode.toggle()
                if isCode { blocks.append(Block(section: section, language: String(line.dropFirst(3)))) }
            } else if isCode, let last = blocks.indices.last {
                blocks[last].text += line + "\n"
            } else if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            }
        }
        return blocks
    }

    @Test(arguments: articles)
    func `the code of an article compiles`(article: String) async throws {
        let blocks = try blocks(of: article)
        let directory = try TemporaryDirectory()
        // Each section is a separate program: a pattern is shown beside the program with Penstock.
        for (section, blocks) in Dictionary(grouping: blocks, by: \.section) {
            let code = blocks.filter { $0.language == "swift" }
            guard !code.isEmpty else { continue }
            var files = [try directory.write("\(section)/main.swift", code.map(\.text).joined(separator: "\n"))]
            if let plan = blocks.first(where: { $0.language == "yaml" && $0.text.contains("events:\n") }) {
                files.append(try await generate(plan.text, in: directory))
            }
            try await compile(files)
        }
    }

    /// Pages that also have code of other kinds.
    private static let pages = [
        "../../../README.md", "FromAnEmptyPackage.md", "../../PenstockHTTP/PenstockHTTP.docc/PenstockHTTP.md",
    ]

    @Test(arguments: pages) func `the program of a page compiles`(page: String) async throws {
        let programs = try blocks(of: page).filter {
            $0.language == "swift" && $0.text.hasPrefix("import ")
        }
        #expect(programs.count == 1)
        let directory = try TemporaryDirectory()
        try await compile(programs.map { try directory.write("main.swift", $0.text) })
    }

    /// The settings of the applications that use the SDK.
    private static let modes = [
        ["-swift-version", "6"], ["-swift-version", "5"], ["-swift-version", "6", "-default-isolation", "MainActor"],
    ]

    private func compile(_ files: [String]) async throws {
        let standIns = try await StandIns.path.value
        for mode in Self.modes {
            let result = try await ProgramResult.run(
                "swiftc",
                ["-typecheck", "-warnings-as-errors", "-I", Self.modules, "-I", standIns] + mode + files)
            #expect(result.status == 0, "\(mode): \(result.errors)")
        }
    }

    @Test func `the daemon accepts the destination that spells names for its service`() async throws {
        let destinations = try blocks(of: "Patterns/ReporterAndMapper.md").filter { $0.language == "yaml" }
        try #require(destinations.count == 1)
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "penstock.yaml",
            """
            sources: { apps: { socket: events.sock } }
            journal: { directory: journal }
            routes: [ { to: [funnel] } ]
            \(destinations[0].text)
            """)
        let result = try await ProgramResult.run(Binaries.directory + "/penstock", ["check", "--config", file])
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The code that the plugin would generate from a plan.
    private func generate(_ plan: String, in directory: TemporaryDirectory) async throws -> String {
        let (file, code) = (try directory.write("plan.yaml", plan), directory.path + "/Plan.swift")
        let result = try await ProgramResult.run(
            Binaries.directory + "/penstock", ["plan", "generate", "--language", "swift", "--output", code, file])
        try #require(result.status == 0, "\(result.errors)")
        return code
    }

    @Test func `all articles exist`() {
        #expect(Self.articles.count >= 13)
    }

    @Test(arguments: ["Package.swift", "Sources/shop/main.swift", "penstock.yaml"])
    func `the tutorial's files match the sample package, which is built and run`(file: String) throws {
        let text = try String(contentsOfFile: SamplePackage.source + "/" + file, encoding: .utf8)
        #expect(try blocks(of: "FromAnEmptyPackage.md").contains { $0.text == text })
    }

    @Test(arguments: ["FirebaseProvider.swift", "MixpanelProvider.swift"])
    func `a vendor's wrapper in the article matches the example application's, which is tested`(file: String) throws {
        let text = try String(contentsOfFile: SamplePackage.root + "/Sources/Examples/Social/" + file, encoding: .utf8)
        #expect(try blocks(of: "Providers.md").contains { $0.language == "swift" && text.hasSuffix($0.text) })
    }
}
