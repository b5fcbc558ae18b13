import Foundation
import Testing

/// The Swift files of the checkout that these tests were built from.
struct SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct File: Sendable, CustomTestStringConvertible {
        /// From the root of the checkout on.
        let path: String
        let lines: [String]

        var testDescription: String { path }
        var name: String { String(path.split(separator: "/").last ?? "") }
        /// The modules that the file imports.
        var imports: [String] {
            lines.compactMap { line in
                var words = line.split(separator: " ").map(String.init)
                guard let at = words.firstIndex(of: "import"), words[..<at].allSatisfy(Self.standsBeforeImport) else {
                    return nil
                }
                words.removeFirst(at + 1)
                if let kind = words.first, ["struct", "func", "enum", "class", "protocol"].contains(kind) {
                    words.removeFirst()
                }
                return words.first?.split(separator: ".").first.map(String.init)
            }
        }

        private static func standsBeforeImport(_ word: String) -> Bool {
            word.hasPrefix("@") || ["public", "package", "internal", "private", "fileprivate"].contains(word)
        }
    }

    /// All Swift files below a directory of the checkout, sorted by path.
    static func files(below directory: String) throws -> [File] {
        let start = root.appending(path: directory)
        let paths = FileManager.default.enumerator(atPath: start.path)?.compactMap { $0 as? String } ?? []
        return try paths.filter { $0.hasSuffix(".swift") }.sorted().map { path in
            let text = try String(contentsOf: start.appending(path: path), encoding: .utf8)
            return File(
                path: directory + "/" + path,
                lines: text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
        }
    }
}
