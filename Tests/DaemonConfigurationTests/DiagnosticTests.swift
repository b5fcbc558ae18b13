import Testing

@testable import DaemonConfiguration

/// The exact text of each diagnostic.
@Suite struct DiagnosticTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var about: String
        var yaml: String
        var shown: String
        var testDescription: String { about }
    }

    static let cases: [Case] = [
        Case(
            about: "an unknown key suggests the nearest known key",
            yaml: """
                sources:
                  apps:
                    sokcet: /run/s
                """,
            shown: """
                /etc/penstock/p.yaml:2:3: error: source "apps" needs one of socket, http, plugin
                  apps:
                  ^~~~
                hint: add socket: PATH, http: HOST:PORT or plugin: NAME
                /etc/penstock/p.yaml:3:5: error: unknown key "sokcet" in source "apps"
                    sokcet: /run/s
                    ^~~~~~
                hint: did you mean "socket"?
                """),
        Case(
            about: "a bad value is shown at the value",
            yaml: withSource("max_event_size: 32KB"),
            shown: """
                /etc/penstock/p.yaml:4:21: error: "32KB" is not a size
                    max_event_size: 32KB
                                    ^~~~
                hint: a size is a number of bytes, or one with a unit: 4096 32KiB 1MiB 20GiB
                """),
        Case(
            about: "a value out of bounds names the bounds",
            yaml: withFile("batch: { events: 0 }"),
            shown: """
                /etc/penstock/p.yaml:6:22: error: "events" must be from 1 to 100000
                    batch: { events: 0 }
                                     ^
                """),
        Case(
            about: "a key set twice names both places",
            yaml: withFile("in_flight: 1\nbatch: { events: 5 }\nin_flight: 2"),
            shown: """
                /etc/penstock/p.yaml:8:5: error: "in_flight" is set twice
                    in_flight: 2
                    ^~~~~~~~~
                hint: remove one of the two
                /etc/penstock/p.yaml:6:5: note: it was set first here
                    in_flight: 1
                    ^~~~~~~~~
                """),
        Case(
            about: "a filter's error is at its column in a plain scalar",
            yaml: withRoute("where: type = \"track\" and and event"),
            shown: """
                /etc/penstock/p.yaml:5:31: error: unexpected "and"; expected a field, a value or (
                    where: type = "track" and and event
                                              ^~~
                """),
        Case(
            about: "a destination that does not exist suggests the nearest known one",
            yaml: """
                sources: { apps: { socket: /run/s } }
                routes: [ { to: [archvie] } ]
                destinations: { archive: { file: /d/out } }
                """,
            shown: """
                /etc/penstock/p.yaml:2:18: error: there is no destination "archvie"
                routes: [ { to: [archvie] } ]
                                 ^~~~~~~
                hint: did you mean "archive"?
                /etc/penstock/p.yaml:3:17: warning: no route leads to the destination "archive"
                destinations: { archive: { file: /d/out } }
                                ^~~~~~~
                hint: add it to the to: of a route
                """),
        Case(
            about: "a key of another kind of destination names that kind",
            yaml: withDestination("http: http://h/\nrotate: { size: 1MiB }"),
            shown: """
                /etc/penstock/p.yaml:6:5: error: "rotate" belongs to a file destination; this is an HTTP destination
                    rotate: { size: 1MiB }
                    ^~~~~~
                """),
        Case(
            about: "two destinations on one file name both places",
            yaml: """
                sources: { apps: { socket: /run/s } }
                routes: [ { to: [a, b] } ]
                destinations:
                  a: { file: /d/out }
                  b: { file: /d/./out }
                """,
            shown: """
                /etc/penstock/p.yaml:5:14: error: destination "a" writes the same file
                  b: { file: /d/./out }
                             ^~~~~~~~
                hint: use one destination in several routes, or give each destination its own file
                /etc/penstock/p.yaml:4:14: note: it is named here
                  a: { file: /d/out }
                             ^~~~~~
                """),
        Case(
            about: "a filter that YAML reads as a tag gets a hint about quotes",
            yaml: withRoute("where: !contains x"),
            shown: """
                /etc/penstock/p.yaml:5:12: error: unknown tag "!contains"
                    where: !contains x
                           ^~~~~~~~~
                hint: \(FilterQuoting.hint)
                """),
        Case(
            about: "a filter that YAML cuts off at a comment gets a hint about quotes",
            yaml: withRoute("where: event = \"Order #5\""),
            shown: """
                /etc/penstock/p.yaml:5:20: error: this string has no closing \"
                    where: event = "Order #5"
                                   ^~~~~~
                hint: \(FilterQuoting.hint)
                """),
        Case(
            about: "a filter in single quotes",
            yaml: withRoute("where: 'type = \"it''s\" andd x'"),
            shown: """
                /etc/penstock/p.yaml:5:28: error: unexpected "andd"; expected and, or, or the end
                    where: 'type = "it''s" andd x'
                                           ^~~~
                """),
        Case(
            about: "a filter in a block",
            yaml: withRoute("where: >-\n  type = \"page\"\n  and event = = 1"),
            shown: """
                /etc/penstock/p.yaml:7:19: error: unexpected "="; expected a field, a value or (
                      and event = = 1
                                  ^
                """),
        Case(
            about: "the path and the template of a transform",
            yaml: withRoute("transforms: [ set: { a..b: 1, c: \"{{ x\" } ]"),
            shown: """
                /etc/penstock/p.yaml:5:26: error: expected a field name, not .
                    transforms: [ set: { a..b: 1, c: "{{ x" } ]
                                         ^~~~
                hint: a dot separates two names; write \\. for a dot inside a name
                /etc/penstock/p.yaml:5:39: error: expected }} after this path
                    transforms: [ set: { a..b: 1, c: "{{ x" } ]
                                                      ^~~~
                hint: write one path between {{ and }}, as in {{ properties.plan }}; put \\ before each character of a name that is not a letter, a digit, _ or -
                """),
        Case(
            about: "a quote that is never closed is shown where it opens",
            yaml: withRoute("name: \"abc"),
            shown: """
                /etc/penstock/p.yaml:5:11: error: not YAML: found unexpected end of stream while scanning a quoted scalar
                    name: "abc
                          ^
                hint: check the indentation, and that every quote and bracket is closed
                """),
        Case(
            about: "text that is not YAML",
            yaml: "sources:\n\tapps: 1\n",
            shown: """
                /etc/penstock/p.yaml:2:1: error: not YAML: found character that cannot start any token
                \tapps: 1
                ^
                hint: indent with spaces: YAML does not allow tabs
                """),
        Case(
            about: "an unknown isolation",
            yaml: withDestination("plugin: sqlite\nisolation: proces"),
            shown: """
                /etc/penstock/p.yaml:6:16: error: "isolation" must be one of process, none
                    isolation: proces
                               ^~~~~~
                hint: did you mean "process"?
                """),
        Case(
            about: "an empty text",
            yaml: "",
            shown: """
                /etc/penstock/p.yaml:1:1: warning: there is no source, so the daemon cannot receive events
                hint: add sources: { apps: { socket: /run/penstock/events.sock } }
                """),
    ]

    @Test(arguments: cases)
    func `a diagnostic shows its place, an excerpt and a hint`(_ test: Case) {
        #expect(shown(test.yaml) == test.shown)
    }

    @Test func `a second YAML document is rejected where it begins`() {
        #expect(
            shown("sources: {}\n---\nroutes: []\n").hasPrefix(
                "/etc/penstock/p.yaml:2:1: error: a second YAML document begins here"))
    }

    @Test func `a tab before the place is kept so that the caret stays aligned`() {
        let place = Place(file: "f", line: 1, column: 3, length: 2, text: "\t a1\u{1B}")
        #expect(place.excerpt == "\t a1\u{FFFD}\n\t ^~")
    }

    @Test func `a very long line is cut down to the part around its place`() throws {
        let text = String(repeating: "a", count: 5_000) + "BAD" + String(repeating: "z", count: 5_000)
        let excerpt = try #require(Place(file: "f", line: 1, column: 5_001, length: 3, text: text).excerpt)
        let lines = excerpt.split(separator: "\n").map(Array.init)
        #expect(lines[0].count < 200)
        let caret = try #require(lines[1].firstIndex(of: "^"))
        #expect(String(lines[0][caret..<caret + 3]) == "BAD")
        #expect(String(lines[1][caret...]) == "^~~")
    }

    @Test func `the number of errors for garbage is bounded`() {
        let text = (0..<2_000).map { "key\($0): 1" }.joined(separator: "\n")
        let list = load(text).diagnostics
        #expect(list.count(where: { $0.severity == .error }) == Diagnostics.limit + 1)
        #expect(
            list.last?.severity == .error && list.last?.message == "there are more errors than the 500 that are shown")
    }

    @Test func `any number of warnings leaves a configuration valid`() {
        let names = (0...Diagnostics.limit).map { "d\($0)" }
        let text = """
            sources: { apps: { socket: /run/s } }
            destinations:
            \(names.map { "  \($0): { file: /d/\($0) }\n" }.joined())
            """
        let result = load(text)
        #expect(result.configuration?.destinations.count == names.count)
        #expect(result.warnings.count == Diagnostics.limit + 1)
        #expect(result.warnings.last?.message == "there are more warnings than the 500 that are shown")
        let wrong = load(text + "\njournal: { queue: x }")
        #expect(wrong.errors.map(\.message) == ["\"x\" is not a size"])
    }

    @Test func `a list of exactly the maximum number of errors does not claim more`() {
        let list = load((0..<Diagnostics.limit).map { "key\($0): 1" }.joined(separator: "\n")).errors
        #expect(list.count == Diagnostics.limit)
        #expect(list.allSatisfy { $0.message.hasPrefix("unknown key") })
    }
}
