import Testing

@testable import DaemonConfiguration

/// YAML's own features, within bounds.
@Suite struct YAMLTests {
    @Test func `anchors, aliases and merge keys work`() throws {
        let result = load(
            """
            sources: { apps: { socket: /run/s } }
            routes:
              - to: &all [a, b]
              - { where: 'type = "page"', to: *all }
            destinations:
              a: &base { file: /d/a, batch: { events: 5 }, in_flight: 2 }
              b: { <<: *base, file: /d/b }
            """)
        #expect(result.diagnostics.isEmpty)
        let configuration = try #require(result.configuration)
        #expect(configuration.routes.map(\.to) == [["a", "b"], ["a", "b"]])
        #expect(configuration.destinations.map(\.batch.events) == [5, 5])
        #expect(configuration.destinations.map(\.inFlight) == [2...2, 2...2])
    }

    @Test func `nested aliases are rejected before they take much memory`() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            text += "a\(level): &a\(level) [\((0..<10).map { _ in "*a\(level - 1)" }.joined(separator: ", "))]\n"
        }
        #expect(messages(text).contains("the aliases of this file expand to more than 100000 values"))
    }

    @Test func `a key made of aliases is rejected before it is hashed`() {
        var text = "a0: &a0 [x, x]\n"
        for level in 1...40 { text += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
        text += "? *a40\n: x\n"
        #expect(messages(text) == ["in a file with more than 16 aliases, a key must be plain text"])
    }

    @Test func `nesting is bounded`() {
        let deep = "a: " + String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(messages(deep).contains("nested deeper than 64 levels"))
        let deeper = "a: " + String(repeating: "[", count: 5_000)
        #expect(messages(deeper) == ["nested deeper than 64 levels"])
    }

    @Test func `the time for each value does not grow with the number of lines or values`() {
        // Splitting the line for each value, or joining line by line, would take minutes.
        let values = (0..<20_000).map { "v\($0)" }.joined(separator: ", ")
        #expect(
            messages(
                "plugins: { directories: [ \(values) ], x: 1 }\n" + String(repeating: "# nothing\n", count: 80_000)
            ).first == "unknown key \"x\" in \"plugins\"")
    }

    @Test func `a mistake in an alias that is used twice is reported once`() {
        let errors = load(
            """
            sources: { apps: { socket: /run/s } }
            routes: [ { to: [a, b] } ]
            destinations:
              a: { file: /d/a, batch: &batch { events: none } }
              b: { file: /d/b, batch: *batch }
            """
        ).errors
        #expect(errors.map(\.message) == ["\"none\" is not a whole number"])
    }

    @Test(
        arguments: [
            ("12", "12"), ("-7", "-7"), ("+7", "7"), ("007", "7"), ("0x1F", "31"), ("0o17", "15"), ("1.50", "1.50"),
            (".5", "0.5"),
            ("5.", "5"), ("1e3", "1e3"), ("1E+3", "1e+3"), ("-0.0", "-0.0"),
            ("123456789012345678901", "123456789012345678901"),
            ("1_000", nil), ("1e", nil), ("0x", nil), ("-", nil), (".", nil), ("", nil), ("1:30", nil), ("٣", nil),
        ] as [(String, String?)])
    func `a YAML 1.2 number is written as a JSON number`(_ text: String, _ json: String?) {
        #expect(JSONRendering.number(text) == json)
    }
}
