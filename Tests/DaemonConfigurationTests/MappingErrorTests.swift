import TestSupport
import Testing

@testable import DaemonConfiguration

@Suite("Mappings in the configuration")
struct MappingErrorTests {
    @Test(arguments: [
        ("{ $dat: $.timestamp }", "16: unknown directive $dat"),
        ("{ a: { $if: { exists: $.a, than: 1 } } }", "41: $if has no argument than"),
        ("{ $if: { exists: $.a } }", "16: $if has no result"),
        ("{ $case: { operator: uper, value: $.a } }", "35: operator must be one of lower, upper"),
        ("{ $case: { value: $.a } }", "16: $case needs operator"),
        ("{ $date: $.a, $json: { mode: encode, value: $.b } }", "28: two directives in one object: $date and $json"),
        ("{ $date: $.a, b: 1 }", "16: the directive $date must be the only member of its object"),
        ("{ $date: { value: $.a, format: iso } }", "45: format must be one of"),
        ("{ a: $.b..c }", "23: expected a field name"),
        ("\"{{ a }\"", "15: expected }} after this path"),
        ("{ $path: a }", "23: a path begins with \"$.\""),
        ("{ $path: 1 }", "23: $path takes text, not a number"),
        ("{ $arrayPath: $.a }", "28: $arrayPath takes a list, not text"),
        ("{ $arrayPath: [] }", "28: $arrayPath takes a list of 1 to 2 items, not 0"),
        ("{ $merge: { objects: $.a } }", "35: objects must be a list, not text"),
        ("{ $replace: { pattern: '', value: $.a } }", "38: pattern must have 1 to 256 bytes"),
        ("{ $replace: { pattern: a, replacement2: b, value: $.a } }", "54: replacement2 needs pattern2"),
        ("{ $replace: { pattern: a, global: 1, value: $.a } }", "48: global must be true or false, not a number"),
        ("{ $if: { exists: $.a, is_blank: $.b, then: 1 } }", "16: $if has two conditions"),
        ("{ $if: { exists: $.a, then: 1, esle: 2 } }", "45: $if has no argument esle"),
        ("{ $literal: !secret a }", "34: a secret is not allowed"),
        ("{ $hash: { value: $.a, key: $.b } }", "42: key must be a secret"),
        ("{ a: .inf }", "19: \".inf\" has no value in JSON"),
        ("{ a: !secret ../a }", "19: \"../a\" cannot be the name of a secret"),
        ("{ a: { \"{{ event }}\": 1 } }", "21: a member's name cannot be a template"),
        ("{ $$x: 1, b: 2, $x: 2 }", "30: another member has the name $x too"),
        ("{ $$$x: 1, $$x: 2, $x: 3 }", "33: another member has the name $x too"),
        ("{ a: \"{{ properties.a€ }}\" }", "20: expected }} after this path"),
        ("", "5: \"mapping\" has no value"),
    ])
    func `a mapping that means nothing is rejected at its place`(_ mapping: String, _ expected: String) {
        let result = load(withFile("mapping: \(mapping)"))
        let found = result.diagnostics.map { "\($0.place.column): \($0.message)" }
        #expect(found.contains { $0.hasPrefix(expected) }, "\(found)")
        #expect(result.diagnostics.allSatisfy { $0.place.line == 6 })
        #expect(result.configuration == nil)
    }

    @Test func `all errors of a mapping are reported at once, each with its line, a caret and a suggestion`() {
        let text = shown(
            withFile("mapping:\n  name: $.event..x\n  at: { $dte: $.timestamp }\n  list: [ 1, { $string: \"{{ }}\" } ]")
        )
        #expect(
            text == """
                /etc/penstock/p.yaml:7:21: error: expected a field name, not .
                      name: $.event..x
                                    ^
                hint: a dot separates two names; write \\. for a dot inside a name
                /etc/penstock/p.yaml:8:13: error: unknown directive $dte
                      at: { $dte: $.timestamp }
                            ^~~~
                hint: did you mean $date? a member of that name is written $$dte
                /etc/penstock/p.yaml:9:33: error: } is not allowed here
                      list: [ 1, { $string: "{{ }}" } ]
                                                ^
                hint: in a field's name, write it as \\}
                """)
    }

    @Test(arguments: [
        ("$.properties.items[0].sku", "write the number of a list item, from 0, after a dot: properties.items.0.sku"),
        ("$.items[0][1]", "write the number of a list item, from 0, after a dot: items.0.1"),
        ("\"{{ items[2] }}\"", "write the number of a list item, from 0, after a dot: items.2"),
        ("$.items['a']", "in a field's name, write it as \\["),
        ("{ $path: \"\" }", "write $.properties.name for a field, or $ for all of the event"),
        ("{ $path: . }", "write $.properties.name for a field, or $ for all of the event"),
        ("{ $path: a }", "write $.a"), ("{ $path: $a }", "write $.a"),
        ("{ $prefix: { value: $.event, length: 1e1 } }", "write 10"),
    ])
    func `a path in another language's notation has a hint with the path to write`(_ mapping: String, _ hint: String) {
        #expect(load(withFile("mapping: \(mapping)")).errors.map(\.hint) == [hint])
    }

    @Test func `the nesting of a mapping is bounded, and so is the work to report it`() {
        let deep = String(repeating: "{ a: ", count: 40) + "1" + String(repeating: " }", count: 40)
        #expect(messages(withFile("mapping: \(deep)")) == ["a mapping is nested at most 32 levels deep"])
    }

    @Test func `a missing secret is reported at its place in the mapping`() throws {
        let result = ConfigurationLoader(credentialsDirectory: "/nonexistent").load(
            text: withFile("mapping: { a: \"x {{ secret.k_1 }}\", b: !secret k2 }"), named: "/etc/penstock/p.yaml")
        #expect(result.diagnostics.map(\.place.column) == [25, 44])
        #expect(result.diagnostics.map(\.message) == ["k_1", "k2"].map { "there is no secret \($0) in /nonexistent" })
    }

    @Test func `an error of a mapping hides no other error and no missing secret`() {
        let result = ConfigurationLoader(credentialsDirectory: "/nonexistent").load(
            text: withFile(
                """
                mapping:
                  x: .inf
                  y: { $pth: 1 }
                  z: !secret nope
                  w: { $case: { oprator: uper, value: !what x, valeu: { $date: $..a } } }
                  v: { $nothing_like_it: [ "{{ secret.hidden }}" ] }
                  u: { $case: { operator: .nan, value: $.a..b } }
                """), named: "/etc/penstock/p.yaml")
        #expect(
            result.diagnostics.map { "\($0.place.line): \($0.message)" } == [
                "7: \".inf\" has no value in JSON", "8: unknown directive $pth", "8: $path takes text, not a number",
                "9: there is no secret nope in /nonexistent", "10: $case has no argument oprator",
                "10: operator must be one of lower, upper", "10: unknown tag \"!what\"",
                "10: $case has no argument valeu",
                "10: . is not allowed here", "11: unknown directive $nothing_like_it",
                "11: there is no secret hidden in /nonexistent", "12: \".nan\" has no value in JSON",
                "12: expected a field name, not .",
            ])
    }

    @Test func `a mapping shows the name of a secret and never its value`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("k", "s3cr3t-value\n")
        let text = withFile(
            "mapping: { token: !secret k, both: \"{{ secret.k }}-{{ event }}\", id: { $hash: { value: $.userId, key: !secret k } } }"
        )
        let result = ConfigurationLoader(credentialsDirectory: directory.path).load(
            text: text, named: "/etc/penstock/p.yaml")
        let mapping = try #require(result.configuration?.destinations.first?.mapping)
        #expect(
            try mapped(#"{"type":"track","event":"A","userId":"u"}"#, mapping)
                == #"{"token":"s3cr3t-value","both":"s3cr3t-value-A","id":"6a32153afc3829547ef82107596a2b38f8f2bfbfa4a7d6461899e10eace8022a"}"#
        )
        var dumped = ""
        dump(result.configuration, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
        #expect(!"\(String(reflecting: result.configuration))".contains("s3cr3t"))
    }

    @Test func `only a change of mapping, size or secret restarts the destination's routing`() throws {
        func configuration(_ lines: String) throws -> Configuration {
            try #require(load(withFile(lines)).configuration)
        }
        let before = try configuration("mapping: { a: $.b }")
        for lines in ["mapping: { a: $.c }", "mapping: { a: $.b }\nmax_event_size: 2MiB", "start: now"] {
            #expect(ConfigurationDifference(from: before, to: try configuration(lines)).rerouted == ["out"])
        }
        #expect(ConfigurationDifference(from: before, to: try configuration("mapping:\n  a: $.b")).isEmpty)
    }
}
