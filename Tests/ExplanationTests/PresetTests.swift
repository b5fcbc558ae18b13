import Platform
import DaemonConfiguration
import Explanation
import Foundation
import TestSupport
import Testing

/// The presets that ship with Penstock: the exact requests that each makes of events, as its test file specifies.
@Suite("Presets")
struct PresetTests {
    private static let directory = Repository.root + "/Tests/ExplanationTests/Presets"

    static let names = PresetCatalogue.shipped.map(\.name)

    @Test func `each file in the directory of presets is shipped and valid`() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root + "/Sources/Destinations/Presets"
        )
        .filter { $0.hasSuffix(".yaml") }.map { String($0.dropLast(5)) }
        let (presets, problems) = PresetCatalogue.list(besides: nil)
        #expect(problems.map(\.description) == [])
        #expect(presets.map(\.name).sorted() == files.sorted())
        for preset in presets {
            #expect(
                preset.isShipped && preset.documentation.hasPrefix("https://") && !preset.summary.isEmpty,
                "\(preset.name)")
        }
    }

    @Test func `the page of presets lists each preset and its required settings`() throws {
        let lines = try String(
            contentsOfFile: Repository.root + "/Sources/penstockd/Penstock.docc/Presets.md", encoding: .utf8
        ).split(separator: "\n")
        let table = lines.drop { $0 != "| preset | service | needs |" }.dropFirst(2).prefix { $0.hasPrefix("|") }
        let expected = PresetCatalogue.shipped.map { preset in
            let needs = preset.settings.filter(\.isRequired).map { "`\($0.name)`" }.joined(separator: ", ")
            return "| `\(preset.name)` | \(preset.title): \(preset.summary) | \(needs) |"
        }
        #expect(table.map(String.init) == expected)
    }

    @Test(arguments: names)
    func `each preset makes the requests that its tests specify`(_ name: String) throws {
        let path = "\(Self.directory)/\(name)"
        let read = TestFileResult.load(
            text: try String(contentsOfFile: path + "/tests.yaml", encoding: .utf8), named: "tests.yaml")
        let file = try #require(read.file, "\(read.diagnostics.map(\.description))")
        let configuration = try configuration(
            String(contentsOfFile: path + "/penstock.yaml", encoding: .utf8), secrets: file.secrets)
        let report = TestReport(file, under: configuration)
        #expect(report.failed == 0, "\(TestText(ANSIStyle(isOn: false)).render(report))")
        // Each preset's tests cover all six kinds, so that none is first tried in production.
        let kinds = Set(
            file.tests.flatMap(\.events).compactMap { event in
                ["track", "identify", "page", "screen", "group", "alias"].first { event.contains("\"type\":\"\($0)\"") }
            })
        #expect(kinds.count == 6, "\(kinds)")
    }
}
