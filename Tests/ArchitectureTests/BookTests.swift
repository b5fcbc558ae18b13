import Foundation
import Testing

/// The pages of the book lead to each other.
@Suite struct BookTests {
    private static let directory = "Sources/penstockd/Penstock.docc"

    struct Page: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String

        var testDescription: String { name }

        /// Text without examples, in which brackets are no links.
        private var prose: String {
            var isCode = false
            return text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
                let isFence = line.drop { $0 == " " }.hasPrefix("```")
                if isFence { isCode.toggle() }
                return !isCode && !isFence
            }.joined(separator: "\n").replacing(/`[^`\n]*`/, with: "")
        }

        /// The relative links.
        var links: [String] {
            prose.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }.filter { !$0.contains("://") }
        }

        /// The headings, as fragments of links. GitHub and DocC differ in the case of letters.
        var fragments: Set<String> {
            Set(
                text.matches(of: /(?m)^#+ (.+)$/).map { heading in
                    heading.1.lowercased().replacing(" ", with: "-").filter {
                        $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_"
                    }
                })
        }
    }

    static let pages: [Page] = {
        let start = SourceTree.root.appending(path: directory)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: start.path)) ?? []
        return names.filter { $0.hasSuffix(".md") }.sorted().compactMap { name in
            (try? String(contentsOf: start.appending(path: name), encoding: .utf8)).map { Page(name: name, text: $0) }
        }
    }()

    @Test func `the start page leads to every page`() throws {
        let links = Dictionary(uniqueKeysWithValues: Self.pages.map { ($0.name, Set($0.links.map(Self.file))) })
        var (found, next): (Set<String>, [String]) = ([], ["Penstock.md"])
        while let name = next.popLast() {
            if found.insert(name).inserted { next += links[name] ?? [] }
        }
        let lost = Self.pages.map(\.name).filter { !found.contains($0) }
        #expect(Self.pages.count > 40 && lost == [])
    }

    @Test(arguments: pages) func `each link of a page leads to a file, and to a heading of it`(page: Page) throws {
        for link in page.links {
            let name = Self.file(link)
            let target = name.isEmpty ? page : Self.pages.first { $0.name == name }
            guard let target else {
                let path = SourceTree.root.appending(path: "\(Self.directory)/\(name)").standardized.path
                #expect(FileManager.default.fileExists(atPath: path), "\(page.name): \(link)")
                continue
            }
            guard let fragment = link.split(separator: "#", omittingEmptySubsequences: false).dropFirst().first else {
                continue
            }
            #expect(target.fragments.contains(fragment.lowercased()), "\(page.name): no heading for \(link)")
        }
    }

    private static func file(_ link: String) -> String {
        String(link.split(separator: "#", omittingEmptySubsequences: false).first ?? "")
    }
}
