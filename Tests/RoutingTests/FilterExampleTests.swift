import Foundation
import Routing
import Testing

/// The filter language by example: the tables in its article.
@Suite("Filter examples")
struct FilterExampleTests {
    struct Example: CustomTestStringConvertible, Sendable {
        var section: String
        var filter: String
        var expected: Bool
        var testDescription: String { "\(section): \(filter)" }
    }

    /// The examples in the article's tables, and the event that they use.
    static let article: (event: String, examples: [Example]) = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/penstockd/Penstock.docc/Filters.md")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        var event = ""
        var examples: [Example] = []
        var section = ""
        var isCode = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("```") {
                isCode.toggle()
            } else if isCode {
                event += line + "\n"
            } else if line.hasPrefix("## ") {
                section = String(line.dropFirst(3))
            } else if line.hasPrefix("| `"), let end = line.range(of: "` | ", options: .backwards) {
                let filter = line[line.index(line.startIndex, offsetBy: 3)..<end.lowerBound]
                examples.append(
                    Example(
                        section: section, filter: String(filter), expected: line[end.upperBound...].hasPrefix("yes")))
            }
        }
        return (event, examples)
    }()

    @Test(arguments: article.examples)
    func `each filter matches the article's event if the article says so`(_ example: Example) throws {
        let filter = try Filter(parsing: example.filter)
        #expect(SampleEvent(Self.article.event).passes(filter) == example.expected)
    }

    @Test
    func `the article has all its examples`() {
        #expect(Self.article.examples.count >= 183)
        #expect(Set(Self.article.examples.map(\.section)).count == 7)
    }
}
