import Foundation
import Testing

@testable import DaemonConfiguration

/// The differences from Segment's mapping-kit that Mapping.md lists.
@Suite("Differences from mapping-kit")
struct MappingKitTests {
    struct Difference: Sendable, CustomTestStringConvertible {
        var mapping: String
        /// nil: the mapping has no output.
        var output: String?
        var testDescription: String { mapping }
    }

    private static let article =
        (try? String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Sources/penstockd/Penstock.docc/Mapping.md"), encoding: .utf8)) ?? ""

    /// The event of the article's examples.
    private static let event =
        article.split(separator: "\n").first { $0.hasPrefix(#"{"type":"#) }.map(String.init) ?? ""

    static let differences: [Difference] = {
        guard let start = article.firstRange(of: "| Mapping | Penstock | mapping-kit |") else { return [] }
        return article[start.upperBound...].split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap { line in
            let cells = line.dropFirst(2).split(separator: " | ", maxSplits: 2)
            guard cells.count == 3 else { return nil }
            let code = cells[1].split(separator: "`", omittingEmptySubsequences: false)
            return Difference(
                mapping: String(cells[0].dropFirst().dropLast()),
                output: cells[1].hasPrefix("nothing") ? nil : code.count >= 3 ? String(code[1]) : "?")
        }
    }()

    @Test(arguments: differences)
    func `each mapping has the output in Penstock's column`(_ difference: Difference) throws {
        let result = load(withFile("mapping: \(difference.mapping)"))
        #expect(result.diagnostics.isEmpty)
        let mapping = try #require(result.configuration?.destinations.first?.mapping)
        #expect(try mapped(Self.event, mapping) == difference.output?.replacing("EVENT", with: Self.event))
    }

    @Test func `the article's table is found`() { #expect(Self.differences.count > 25) }

    @Test func `a mapping-kit condition with the opposite meaning is an error that explains both meanings`() throws {
        let result = load(withFile("mapping: { a: { $if: { blank: $.userId, then: !secret k, else: 2 } } }"))
        let error = try #require(result.errors.first { $0.message.contains("blank") })
        #expect(
            error.description == """
                /etc/penstock/p.yaml:6:28: error: $if has no argument blank: in Segment's mapping-kit, blank takes then for a value that is not blank
                    mapping: { a: { $if: { blank: $.userId, then: !secret k, else: 2 } } }
                                           ^~~~~
                hint: is_blank takes then for a value that is missing, null or empty text; for a mapping from mapping-kit, write is_blank and swap then and else
                """)
        #expect(result.configuration == nil)
    }
}
