import Foundation
import Testing

/// What the style page of CONTRIBUTING.md asks of every file, as far as a program can see it.
@Suite struct StyleTests {
    private static let sources = Result { try ["Sources", "Plugins"].flatMap { try SourceTree.files(below: $0) } }
    private static let tests = Result {
        try SourceTree.files(below: "Tests").filter { !$0.path.contains("/.build/") }
    }

    /// Rooms without an opening comment: data, and programs of one file.
    private static let small = ["Examples", "penstock-plan-generator"]

    @Test func `a file has at most 400 lines`() throws {
        for file in try Self.sources.get() + Self.tests.get() {
            #expect(file.lines.count <= 401, "\(file.path) has \(file.lines.count - 1) lines: which noun is missing?")
        }
    }

    @Test func `a line has at most 120 columns`() throws {
        for file in try Self.sources.get() {
            for (number, line) in file.lines.enumerated() where line.count > 120 {
                Issue.record("\(file.path):\(number + 1) has \(line.count) columns")
            }
        }
    }

    @Test func `no file is named for what belongs nowhere`() throws {
        for file in try Self.sources.get() + Self.tests.get() {
            for word in ["Util", "Helper", "Common", "Manager", "Misc"] {
                #expect(!file.name.contains(word), "\(file.path)")
            }
        }
    }

    @Test(arguments: ArrowTests.arrows.keys.sorted().filter { !small.contains($0) })
    func `a room's opening comment stands in the file that is named for the room`(room: String) throws {
        let name = room.first?.isLowercase == true ? room.prefix(1).uppercased() + room.dropFirst() : room
        let file = try SourceTree.files(below: "Sources/\(room)").first { $0.path == "Sources/\(room)/\(name).swift" }
        let first = try #require(file?.lines.first, "there is no Sources/\(room)/\(name).swift")
        #expect(first.hasPrefix("// \(room): ") || first.hasPrefix("// \(room) "), "\(room): \(first)")
    }

    /// Words of this project's own for things that have a name in the field, and turns that hide the subject.
    private static let banned = [
        "nothing but", "whoever", "it says so", "goes again", "of whom", "what becomes of", "was expected here",
        "is as good as", "by somebody else", "none at once", "foresight",
    ]

    @Test(arguments: banned) func `texts that users see use plain words`(word: String) throws {
        let pattern = try NSRegularExpression(pattern: "\"[^\"]*\\b\(word)\\b[^\"]*\"", options: .caseInsensitive)
        for file in try Self.sources.get() {
            for (number, line) in file.lines.enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                let range = NSRange(line.startIndex..., in: line)
                #expect(pattern.firstMatch(in: line, range: range) == nil, "\(file.path):\(number + 1): \(line)")
            }
        }
    }
}
