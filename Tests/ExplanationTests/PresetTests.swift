import Configuration
import Explanation
import Foundation
import TestSupport
import Testing

/// The presets that come with Penstock: the exact requests that each makes of events, as test files say them.
@Suite("Presets")
struct PresetTests {
    private static let directory = Repository.root + "/Tests/ExplanationTests/Presets"

    static let names = PresetCatalogue.shipped.map(\.name)

    @Test("Each file in the directory of presets is one of those that come with Penstock, and is understood")
    func shipped() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Repository.root + "/Sources/Destinations/Presets")
            .filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }
        let (presets, problems) = PresetCatalogue.list(besides: nil)
        #expect(problems.map(\.description) == [])
        #expect(presets.map(\.name).sorted() == files.sorted())
        for preset in presets { #expect(preset.isShipped && preset.documentation.hasPrefix("https://") && !preset.summary.isEmpty, "\(preset.name)") }
    }

    @Test("The README's table names each of them and what it needs")
    func readme() throws {
        let lines = try String(contentsOfFile: Repository.root + "/README.md", encoding: .utf8).split(separator: "\n")
        let table = lines.drop { $0 != "| preset | service | needs |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
        let expected = PresetCatalogue.shipped.map { preset in
            let needs = preset.settings.filter(\.isRequired).map { "`\($0.name)`" }.joined(separator: ", ")
            return "| `\(preset.name)` | \(preset.title): \(preset.summary) | \(needs) |"
        }
        #expect(table.map(String.init) == expected)
    }

    @Test("Each makes of the events of its tests the requests that they say", arguments: names)
    func requests(_ name: String) throws {
        let path = "\(Self.directory)/\(name)"
        let read = TestFileResult.load(text: try String(contentsOfFile: path + "/tests.yaml", encoding: .utf8), named: "tests.yaml")
        let file = try #require(read.file, "\(read.diagnostics.map(\.description))")
        let configuration = try configuration(String(contentsOfFile: path + "/penstock.yaml", encoding: .utf8), secrets: file.secrets)
        let report = TestReport(file, under: configuration)
        #expect(report.failed == 0, "\(TestText(Paint(isOn: false)).render(report))")
        // Nobody wants to learn in production what becomes of the sixth kind.
        let kinds = Set(file.tests.flatMap(\.events).compactMap { event in ["track", "identify", "page", "screen", "group", "alias"].first { event.contains("\"type\":\"\($0)\"") } })
        #expect(kinds.count == 6, "\(kinds)")
    }
}
