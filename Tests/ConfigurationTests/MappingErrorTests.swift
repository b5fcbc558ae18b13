@testable import Configuration
import TestSupport
import Testing

@Suite("Mappings in the configuration")
struct MappingErrorTests {
    @Test(
        "A mapping that means nothing is refused where it does",
        arguments: [
            ("{ $dat: $.timestamp }", "16: unknown directive $dat"),
            ("{ a: { $if: { exists: $.a, than: 1 } } }", "41: $if has no argument than"),
            ("{ $if: { exists: $.a } }", "16: $if has no value to give"),
            ("{ $case: { operator: uper, value: $.a } }", "35: operator has to be one of lower, upper"),
            ("{ $case: { value: $.a } }", "16: $case needs operator"),
            ("{ $date: $.a, $json: { mode: encode, value: $.b } }", "28: two directives in one object: $date and $json"),
            ("{ $date: $.a, b: 1 }", "16: the directive $date stands alone in its object"),
            ("{ $date: { value: $.a, format: iso } }", "45: format has to be one of"),
            ("{ a: $.b..c }", "23: a field name was expected here"),
            ("\"{{ a }\"", "15: }} was expected behind this path"),
            ("{ $path: a }", "23: a path begins with \"$.\""),
            ("{ $path: 1 }", "23: $path takes text, not a number"),
            ("{ $arrayPath: $.a }", "28: $arrayPath takes a list, not text"),
            ("{ $arrayPath: [] }", "28: $arrayPath takes a list of 1 to 2 items, not 0"),
            ("{ $merge: { objects: $.a } }", "35: objects has to be a list, not text"),
            ("{ $replace: { pattern: '', value: $.a } }", "38: pattern has 1 to 256 bytes"),
            ("{ $replace: { pattern: a, replacement2: b, value: $.a } }", "54: replacement2 without pattern2"),
            ("{ $replace: { pattern: a, global: 1, value: $.a } }", "48: global has to be true or false, not a number"),
            ("{ $if: { exists: $.a, is_blank: $.b, then: 1 } }", "16: $if has two conditions"),
            ("{ $if: { exists: $.a, then: 1, esle: 2 } }", "45: $if has no argument esle"),
            ("{ $literal: !secret a }", "34: a secret is not allowed"),
            ("{ $hash: { value: $.a, key: $.b } }", "42: key has to be a secret"),
            ("{ a: .inf }", "19: \".inf\" has no value in JSON"),
            ("{ a: !secret ../a }", "19: \"../a\" cannot be the name of a secret"),
            ("{ a: { \"{{ event }}\": 1 } }", "21: nothing is filled in in a member's name"),
            ("{ $$x: 1, b: 2, $x: 2 }", "30: another member comes to the name $x as well"),
            ("{ $$$x: 1, $$x: 2, $x: 3 }", "33: another member comes to the name $x as well"),
            ("{ a: \"{{ properties.a€ }}\" }", "20: }} was expected behind this path"),
            ("", "5: \"mapping\" has no value"),
        ])
    func refused(_ mapping: String, _ expected: String) {
        let result = load(withFile("mapping: \(mapping)"))
        let found = result.diagnostics.map { "\($0.place.column): \($0.message)" }
        #expect(found.contains { $0.hasPrefix(expected) }, "\(found)")
        #expect(result.diagnostics.allSatisfy { $0.place.line == 6 })
        #expect(result.configuration == nil)
    }

    @Test("All that is wrong is told at once, with the line, a caret and what was probably meant")
    func atOnce() {
        let text = shown(withFile("mapping:\n  name: $.event..x\n  at: { $dte: $.timestamp }\n  list: [ 1, { $string: \"{{ }}\" } ]"))
        #expect(
            text == """
                /etc/penstock/p.yaml:7:21: error: a field name was expected here, found .
                      name: $.event..x
                                    ^
                hint: a dot stands between two names; one that belongs to a name is written \\.
                /etc/penstock/p.yaml:8:13: error: unknown directive $dte
                      at: { $dte: $.timestamp }
                            ^~~~
                hint: did you mean $date? a member of that name is written $$dte
                /etc/penstock/p.yaml:9:33: error: } was not expected here
                      list: [ 1, { $string: "{{ }}" } ]
                                                ^
                hint: in a field's name it is written \\}
                """)
    }

    @Test(
        "A path that is written as other languages write it is explained",
        arguments: [
            ("$.properties.items[0].sku", "an item of a list is named by its number, from 0, behind a dot: properties.items.0.sku"),
            ("$.items[0][1]", "an item of a list is named by its number, from 0, behind a dot: items.0.1"),
            ("\"{{ items[2] }}\"", "an item of a list is named by its number, from 0, behind a dot: items.2"),
            ("$.items['a']", "in a field's name it is written \\["),
            ("{ $path: \"\" }", "write $.properties.name for a field, or $ for all of the event"),
            ("{ $path: . }", "write $.properties.name for a field, or $ for all of the event"),
            ("{ $path: a }", "write $.a"), ("{ $path: $a }", "write $.a"),
            ("{ $prefix: { value: $.event, length: 1e1 } }", "write 10"),
        ])
    func explained(_ mapping: String, _ hint: String) {
        #expect(load(withFile("mapping: \(mapping)")).errors.map(\.hint) == [hint])
    }

    @Test("Nesting is bounded, and so is what it takes to say so")
    func depth() {
        let deep = String(repeating: "{ a: ", count: 40) + "1" + String(repeating: " }", count: 40)
        #expect(messages(withFile("mapping: \(deep)")) == ["a mapping is nested at most 32 levels deep"])
    }

    @Test("A secret that is nowhere is told at its place in the mapping")
    func missingSecret() throws {
        let result = ConfigurationLoader(credentialsDirectory: "/nonexistent").load(
            text: withFile("mapping: { a: \"x {{ secret.k_1 }}\", b: !secret k2 }"), named: "/etc/penstock/p.yaml")
        #expect(result.diagnostics.map(\.place.column) == [25, 44])
        #expect(result.diagnostics.map(\.message) == ["k_1", "k2"].map { "there is no secret \($0) in /nonexistent" })
    }

    @Test("No error of a mapping hides another, nor a secret that is nowhere")
    func nothingHidden() {
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
                "10: operator has to be one of lower, upper", "10: unknown tag \"!what\"", "10: $case has no argument valeu",
                "10: . was not expected here", "11: unknown directive $nothing_like_it",
                "11: there is no secret hidden in /nonexistent", "12: \".nan\" has no value in JSON",
                "12: a field name was expected here, found .",
            ])
    }

    @Test("A mapping with a secret shows its name and never its value")
    func concealed() throws {
        let directory = try TemporaryDirectory()
        try directory.write("k", "s3cr3t-value\n")
        let text = withFile("mapping: { token: !secret k, both: \"{{ secret.k }}-{{ event }}\", id: { $hash: { value: $.userId, key: !secret k } } }")
        let result = ConfigurationLoader(credentialsDirectory: directory.path).load(text: text, named: "/etc/penstock/p.yaml")
        let mapping = try #require(result.configuration?.destinations.first?.mapping)
        #expect(
            try mapped(#"{"type":"track","event":"A","userId":"u"}"#, mapping)
                == #"{"token":"s3cr3t-value","both":"s3cr3t-value-A","id":"6a32153afc3829547ef82107596a2b38f8f2bfbfa4a7d6461899e10eace8022a"}"#)
        var dumped = ""
        dump(result.configuration, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
        #expect(!"\(String(reflecting: result.configuration))".contains("s3cr3t"))
    }

    @Test("Another mapping, size or secret makes the destination start anew, and nothing else does")
    func difference() throws {
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
