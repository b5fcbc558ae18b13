import Testing

@testable import DaemonConfiguration

/// The place of the word `bad` in a scalar's value is found in the file.
@Suite struct ScalarPlacesTests {
    @Test(arguments: [
        "key: one bad two",
        "key: &anchor one bad two",
        "key: 'it''s bad'",
        "key: \"tab\\tand\\u00e9 and \\x41 bad\"",
        "key: äöü bad",
        "key: one\n  two\n  bad",
        "key: one\n\n\n  bad three",
        "key: 'one   \n  two\n\n  bad'",
        "key: \"one \\\n  bad\"",
        "key: |\n  one\n  bad\n",
        "key: |\n\n  one\n    two\n  bad",
        "key: >-\n  one\n  two bad\n",
        "key: >\n  one\n\n  bad\n  three",
        "key: |2\n      one\n    two\n  bad",
        "key: |1\n\n    bad\n  two",
        "key: >2\n      one\n  two bad",
        "- { a: 1, key: a bad }",
    ])
    func `a place inside a scalar is found in the file`(_ text: String) throws {
        let diagnostics = Diagnostics()
        let file = ConfigurationFile(path: "f", text: text)
        guard case .root(let root) = YAMLComposer.compose(file, diagnostics) else {
            Issue.record("\(diagnostics.list)")
            return
        }
        let entries = try #require(root.items?.first?.entries ?? root.entries)
        let node = try #require(entries.first { $0.key == "key" }?.value)
        let value = try #require(node.scalar).text
        let offset = try #require(value.firstRange(of: "bad")).lowerBound
        let scalars = value.unicodeScalars.distance(from: value.startIndex, to: offset)
        let place = ScalarPlaces.place(of: scalars, length: 3, in: node)
        let shown = Array(place.text.unicodeScalars)
        try #require(place.column - 1 + place.length <= shown.count)
        #expect(shown[(place.column - 1)..<(place.column - 1 + place.length)].map(String.init).joined() == "bad")
    }

    @Test(arguments: [
        ("key: one", [1]),
        ("key: |\n  one\n\n  two\n", [2, 3, 4, 5]),
        ("key: |4-\n        one\n    two", [2, 3]),
        ("key: >-\n  one\n  more\n\n  two\n    three", [2, 5, 6]),
        ("key: \"one\\ntwo \\\n  \\nthree\"", [1, 1, 2]),
        ("key: 'one\n\n  two'", [1, 3]),
    ])
    func `the lines of a scalar are those of the file`(_ text: String, _ lines: [Int]) throws {
        let file = ConfigurationFile(path: "f", text: text)
        guard case .root(let root) = YAMLComposer.compose(file, Diagnostics()) else {
            Issue.record("not YAML")
            return
        }
        let node = try #require(root.entries?.first?.value)
        #expect(ScalarPlaces.lines(of: node) == lines)
    }

    @Test func `the end of a scalar has a place, and so has every offset beyond it`() throws {
        let file = ConfigurationFile(path: "f", text: "key: 'ab'")
        guard case .root(let root) = YAMLComposer.compose(file, Diagnostics()) else {
            Issue.record("not YAML")
            return
        }
        let node = try #require(root.entries?.first?.value)
        #expect(ScalarPlaces.place(of: 2, length: 0, in: node).column == 9)
        #expect(ScalarPlaces.place(of: .max, length: .max, in: node).column == 9)
        #expect(ScalarPlaces.place(of: -5, length: -5, in: node).column == 7)
    }
}
