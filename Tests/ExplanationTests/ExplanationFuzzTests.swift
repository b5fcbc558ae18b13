import Platform
import DaemonConfiguration
import Delivery
import Explanation
import Foundation
import Routing
import Testing

/// Combines random pieces into configurations and events. Every combination is checked and explained, and the
/// explanation agrees with the router. `PENSTOCK_FUZZ_ROUNDS` sets the number of rounds.
@Suite("Explanation fuzzing")
struct ExplanationFuzzTests {
    private static var rounds: Int {
        ProcessInfo.processInfo.environment["PENSTOCK_FUZZ_ROUNDS"].flatMap(Int.init) ?? 300
    }

    private static let paths = [
        "event", "userId", "messageId", "properties", "properties.a", "properties.a.b", "properties.l.0",
        "properties.n", "context.app.name",
        "traits.plan", "integrations", "properties.a\\ b", "x", "properties.m",
    ]
    private static let values = [
        "1", "1.50", "-0", "1e400", "12345678901234567890", "true", "null", "\"text\"",
        "\"ada@example.org 4111 1111 1111 1111\"", "\"é\\u00e9\\n\"", "[]",
        "[1,[2,{\"a\":3}],\"x\"]", "{}", "{\"b\":{\"c\":1},\"a\":[1,2]}", "\"2026-01-31T08:00:00Z\"", "\"\"",
    ]

    private static func filter(_ random: inout Generator, depth: Int = 3) -> String {
        let path = paths.randomElement(using: &random) ?? ""
        guard depth > 0 else { return path }
        switch Int.random(in: 0..<9, using: &random) {
        case 0: return "type = 'track'"
        case 1: return "event in ['Order Completed', 'x']"
        case 2: return "\(path) != null"
        case 3: return "length(\(path)) >= 1"
        case 4: return "match(\(path), '*a*')"
        case 5: return "!(\(filter(&random, depth: depth - 1)))"
        case 6: return "(\(filter(&random, depth: depth - 1)) and \(filter(&random, depth: depth - 1)))"
        case 7: return "(\(filter(&random, depth: depth - 1)) or \(filter(&random, depth: depth - 1)))"
        default: return "lowercase(string(\(path))) = 'text'"
        }
    }

    private static func transform(_ random: inout Generator) -> String {
        func path() -> String { paths.randomElement(using: &random) ?? "" }
        let condition = Bool.random(using: &random) ? ", where: \(quoted(filter(&random)))" : ""
        let one = path()
        let other = path()
        let transforms = [
            "set: { \(quoted(one)): 1 }", "set: { \(quoted(one)): \(quoted("{{ \(other) }}-x")) }",
            "drop: [ \(quoted(one)) ]",
            "keep: [ \(quoted(one)), \(quoted(other)) ]", "rename: { \(quoted(one)): \(quoted(other)) }",
            "copy: { \(quoted(one)): \(quoted(other)) }",
            "move: { \(quoted(one)): \(quoted(other)) }", "to_string: [ \(quoted(one)) ]",
            "to_number: [ \(quoted(one)) ]", "hash: [ \(quoted(one)) ]",
            "mask: [ \(quoted(one)) ]", "redact: { find: [email, card] }", "name_case: snake", "sample: 50%",
            "dedupe: 1h", "flatten: [ \(quoted(one)) ]",
            "rename_events: { Order Completed: bought }", "timed: native", "session: properties",
            "enrich: { host: context.host }", "strange: 1",
            "lua: \"return { event, event }\"", "lua: \"event.properties = nil return event\"", "lua: \"error('no')\"",
        ]
        return "{ \(transforms.randomElement(using: &random) ?? "")\(condition) }"
    }

    private static func quoted(_ text: String) -> String {
        "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
    }

    private static func list(_ random: inout Generator, upTo count: Int, _ item: (inout Generator) -> String) -> String
    {
        var items: [String] = []
        for _ in 0..<Int.random(in: 0...count, using: &random) { items.append(item(&random)) }
        return "[ \(items.joined(separator: ", ")) ]"
    }

    private static func configuration(_ random: inout Generator) -> String {
        let mappings = [
            "", "", "", ", mapping: { e: $.event, all: { $merge: { objects: [ $.properties, { x: 1 } ] } } }",
            ", mapping: $.properties.a",
            ", mapping: { $date: $.timestamp }", ", mapping: { t: !secret t, h: \"{{ userId }}{{ secret.t }}\" }",
        ]
        let kinds = [
            "file: /d/%Y", "http: \"http://a.example/\", format: single",
            "http: \"http://a.example/\", format: ndjson, headers: { X: !secret t }",
            "plugin: p, settings: { k: !secret t }",
        ]
        var routes: [String] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            routes.append(
                "  - { where: \(quoted(filter(&random))), transforms: \(list(&random, upTo: 3, transform)), to: [d] }")
        }
        let condition = Bool.random(using: &random) ? ", where: \(quoted(filter(&random)))" : ""
        return """
            sources: { s: { socket: /run/s } }
            routes:
            \(routes.joined(separator: "\n"))
            destinations:
              d: { \(kinds.randomElement(using: &random) ?? "")\(condition), transforms: \(list(&random, upTo: 2, transform))\(mappings.randomElement(using: &random) ?? "") }
            """
    }

    private static func event(_ random: inout Generator) -> String {
        func value() -> String { values.randomElement(using: &random) ?? "" }
        let kind = ["track", "track", "identify", "page"].randomElement(using: &random) ?? ""
        var members = ["\"type\":\"\(kind)\"", "\"userId\":\"u\""]
        if kind == "track" { members.append("\"event\":\"Order Completed\"") }
        if Bool.random(using: &random) { members.append("\"messageId\":\"m\"") }
        if Bool.random(using: &random) {
            members.append("\"properties\":{\"a\":\(value()),\"n\":\(value()),\"l\":\(value()),\"a b\":\(value())}")
        }
        if Bool.random(using: &random) { members.append("\"context\":{\"app\":{\"name\":\(value())}}") }
        if Bool.random(using: &random) { members.append("\"integrations\":{\"d\":\(value())}") }
        if Bool.random(using: &random) { members.append("\"x\":\(value())") }
        members.shuffle(using: &random)
        return "{\(members.joined(separator: ","))}"
    }

    @Test func `an explanation agrees with the router for any configuration and event`() throws {
        var random = Generator(state: 2_026)
        var valid = 0
        var routed = 0
        var rejected = 0
        for _ in 0..<Self.rounds {
            let yaml = Self.configuration(&random)
            let loaded = ConfigurationLoader.withStandIns(pluginDirectories: []).load(text: yaml, named: "p.yaml")
            guard let configuration = loaded.configuration else {
                #expect(!loaded.errors.isEmpty)
                continue
            }
            valid += 1
            let explainer = EventExplainer(configuration)
            for position in 0..<4 {
                let event = Self.event(&random)
                let explanation = explainer.explain(Array(event.utf8), position: UInt64(position), receivedAt: morning)
                for destination in explanation.destinations {
                    let ways = destination.trace.events
                    switch destination.verdict {
                    case .routed:
                        routed += 1
                        #expect(ways.contains { $0.taker != nil }, "\(yaml)\n\(event)")
                        if destination.destination.mapping == nil { expectSame(destination, yaml, event) }
                    case .filtered(reason: "no_route"):
                        #expect(ways.allSatisfy { $0.taker == nil }, "\(yaml)\n\(event)")
                    case .filtered(reason: "integrations"): #expect(ways.contains { $0.isForbidden })
                    case .filtered(reason: "mapping"): #expect(destination.destination.mapping != nil)
                    case .filtered:
                        #expect(ways.allSatisfy { $0.results.isEmpty }, "\(yaml)\n\(event)")
                        // A router detects impossible edits only when it writes all of them.
                        #expect(
                            (ways.flatMap(\.steps) + destination.trace.pipeline).contains { step in
                                if case .made = step.outcome { false } else { step.outcome != .passedOver }
                            }, "\(yaml)\n\(event)")
                    case .rejected: rejected += 1
                    }
                }
                #expect(JSONTree(explanation.json.text) != nil, "\(yaml)\n\(event)")
                #expect(!ExplanationText(ANSIStyle(isOn: false)).render(explanation).isEmpty)
            }
        }
        // Otherwise the test would have checked nothing.
        #expect(valid > Self.rounds / 10 && routed > Self.rounds / 10 && rejected > 0)
    }

    /// Checks that the last step's events are what the destination gets, except for added message ids.
    private func expectSame(_ destination: DestinationExplanation, _ yaml: String, _ event: String) {
        let steps = destination.trace.events.flatMap(\.results)
        #expect(steps.count == destination.events.count, "\(yaml)\n\(event)")
        for (before, after) in zip(steps, destination.events) {
            guard let before = JSONTree(before), let after = JSONTree(after) else { continue }
            let changes = JSONDifference(from: before, to: after).changes.filter { $0.path != "messageId" }
            #expect(changes.isEmpty, "\(yaml)\n\(event)\n\(changes)")
        }
    }

    @Test func `a randomly changed configuration or test file is checked within its bounds`() throws {
        var random = Generator(state: 31)
        let files = try ["penstock.yaml", "examples/quickstart.yaml", "examples/tests/quickstart.yaml"].map {
            Array(try Data(contentsOf: URL(fileURLWithPath: Repository.root + "/etc/penstock/" + $0)))
        }
        let pieces = [
            "{", "}", "[", "]", ": ", "- ", "*a", "&a ", "!secret ", "\"", "'", "|\n", "$.", "{{", "\t", "\u{0}", "é",
            "\n", "null", "1e999", "$date",
        ]
        for round in 0..<Self.rounds {
            var bytes = files[round % files.count]
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: at)
                } else {
                    bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...12, using: &random)))
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let loaded = ConfigurationLoader.withStandIns(pluginDirectories: []).load(text: text, named: "p.yaml")
            #expect((loaded.configuration == nil) == !loaded.errors.isEmpty)
            let tests = TestFileResult.load(text: text, named: "t.yaml")
            #expect((tests.file == nil) == tests.diagnostics.contains { $0.severity == .error })
            if let configuration = loaded.configuration {
                _ =
                    EventExplainer(configuration).explain(
                        Array(Self.event(&random).utf8), position: 0, receivedAt: morning
                    ).json
            }
        }
    }
}
