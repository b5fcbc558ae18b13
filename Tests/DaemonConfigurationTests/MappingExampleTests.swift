import Events
import Foundation
import Testing

@testable import DaemonConfiguration
@testable import Routing

/// The examples of Mapping.md, in its order.
@Suite("Mapping examples")
struct MappingExampleTests {
    struct Example: Sendable, CustomTestStringConvertible {
        var section: String
        var event: String
        var mapping: String
        /// nil: the mapping has no output.
        var output: String?
        var testDescription: String { "\(section): \(mapping)" }
    }

    static let examples: [Example] = {
        let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/penstockd/Penstock.docc/Mapping.md")
        return (try? String(contentsOf: article, encoding: .utf8)).map(read) ?? []
    }()

    private static func read(_ article: String) -> [Example] {
        var examples: [Example] = []
        var usual = ""
        var event = ""
        var section = ""
        for line in article.split(separator: "\n") {
            if line.hasPrefix("## ") { (section, event) = (String(line.dropFirst(3)), usual) }
            if line.hasPrefix(#"{"type":"#) { usual = String(line) }
            if line.hasPrefix("With `"), let code = code(line) { event = code }
            guard line.hasPrefix("| `") else { continue }
            let cells = line.dropFirst(2).dropLast(2).split(separator: " | ")
            guard cells.count == 2, let mapping = code(cells[0]), !section.isEmpty else { continue }
            examples.append(
                Example(
                    section: section, event: event, mapping: mapping,
                    output: cells[1] == "nothing" ? nil : code(cells[1])))
        }
        return examples
    }

    private static func code(_ text: Substring) -> String? {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.count >= 3 ? String(parts[1]) : nil
    }

    @Test func `the article has examples of every directive`() {
        #expect(Self.examples.count > 60)
        for directive in Directive.all {
            #expect(
                Self.examples.contains { $0.section.contains(directive.name) && $0.mapping.contains(directive.name) })
        }
    }

    @Test(arguments: examples)
    func `each mapping has the output that the article shows`(_ example: Example) throws {
        let result = load(withFile("mapping: \(example.mapping)"))
        #expect(result.diagnostics.isEmpty)
        let mapping = try #require(result.configuration?.destinations.first?.mapping)
        let output = try mapped(example.event, mapping)
        #expect(output == example.output)
    }
}

/// The mapping's output for an event that was received at 2026-01-31T12:00:05Z. Nil: no output.
func mapped(_ event: String, _ filled: Configuration.FilledMapping) throws -> String? {
    var table = PathTable()
    let program = MappingProgram(
        MappingSetting(filled.mapping, limit: 1 << 20, secret: filled.secret),
        journal: [UInt8](repeating: 0, count: 16), &table)
    let bytes = Array(event.utf8)
    let received = try #require(Timestamp.parse("2026-01-31T12:00:05Z"))
    let fields = EventFields(table)
    let view = EventView(
        json: bytes.span, index: EventIndex(kind: .track), fields: fields,
        moment: EventMoment(position: 7, receivedAt: received))
    var output = Array("before".utf8)
    switch program.write(view, into: &output) {
    case .written: return String(decoding: output.dropFirst(6), as: UTF8.self)
    case .nothing:
        #expect(output == Array("before".utf8))
        return nil
    case .tooLarge: return "too large"
    case .tooLong: return "too long"
    }
}
