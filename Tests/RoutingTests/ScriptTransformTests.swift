import DaemonConfiguration
import Events
import Testing

@testable import Routing

/// The result of a router with these transforms and an optional mapping.
private func route(_ event: String, _ steps: [Transform], mapping: MappingValue? = nil, limit: Int = 1 << 20) throws
    -> [String]
{
    let setting = try mapping.map { MappingSetting(try Mapping($0), limit: limit) { _ in "" } }
    let router = DestinationRouter(
        name: "out", routes: [.init(filter: .always, transforms: steps)], mapping: setting,
        journal: [UInt8](repeating: 1, count: 16))
    let sample = SampleEvent(event)
    var output = Array("kept\n".utf8)
    let verdict = router.route(sample.record, of: sample.batch, into: &output)
    func text(_ range: Range<Int>) -> String { String(decoding: output[range], as: UTF8.self) }
    switch verdict {
    case .routed(let id, _): return [text(5..<output.count), "id \(text(id))"]
    case .split(let parts): return parts.map { text($0.json) } + parts.map { "id \(text($0.messageID))" }
    case .filtered(let reason):
        #expect(output.count == 5)
        return ["filtered: \(reason)"]
    case .rejected(let reason):
        #expect(output.count == 5)
        return ["rejected: \(reason)"]
    }
}

private let event = #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":{"n":1.50}}"#

@Suite("Scripts in a destination's transforms")
struct ScriptTransformTests {
    @Test
    func `a script can be mixed with other transforms and have its own where`() throws {
        let steps = try transforms(
            """
            - set: { properties.before: true }
            - lua: |
                event.properties.after = event.properties.before
                return event
              where: event = "A"
            - lua: return nil
              where: event = "B"
            - set: { z: $.properties.after }
            """)
        #expect(
            try route(event, steps) == [
                #"{"type":"track","event":"A","messageId":"m","userId":"u","properties":{"n":1.50,"before":true,"after":true},"z":true}"#,
                "id m",
            ])
        #expect(try route(event.replacing(#""event":"A""#, with: #""event":"B""#), steps) == ["filtered: lua"])
    }

    @Test
    func `several events that a script returns are processed separately, with different ids`() throws {
        let steps = try transforms("- lua: return { event, event, { type = 'track', event = 'B', userId = 'u' } }")
        let derived = MessageID.derived(journal: [UInt8](repeating: 1, count: 16), position: 7)
        #expect(
            try route(event, steps) == [
                event, event.replacing(#""m""#, with: #""m:1""#),
                #"{"event":"B","type":"track","userId":"u","messageId":"\#(derived):2"}"#, "id m", "id m:1",
                "id \(derived):2",
            ])
    }

    @Test
    func `the mapping is applied to each event that a script returns`() throws {
        let steps = try transforms("- lua: return { event, { type = 'track', event = 'B', userId = 'u' } }")
        let derived = MessageID.derived(journal: [UInt8](repeating: 1, count: 16), position: 7)
        let mapping = MappingValue.object([.init("e", .string("$.event")), .init("id", .string("$.messageId"))])
        #expect(
            try route(event, steps, mapping: mapping) == [
                #"{"e":"A","id":"m"}"#, #"{"e":"B","id":"\#(derived):1"}"#, "id m", "id \(derived):1",
            ])
        #expect(try route(event, [], mapping: mapping) == [#"{"e":"A","id":"m"}"#, "id m"])
        let whole = try transforms("- set: { properties.plan: pro }")
        #expect(try route(event, whole, mapping: .string("$.properties")) == [#"{"n":1.50,"plan":"pro"}"#, "id "])
    }

    @Test
    func `a mapping without a value filters the event out, and a result that is too large rejects it`() throws {
        #expect(try route(event, [], mapping: .string("$.properties.none")) == ["filtered: mapping"])
        #expect(
            try route(event, [], mapping: .string("$.properties"), limit: 9) == [
                "rejected: mapping: the result exceeds 9 bytes (max_event_size)"
            ])
        #expect(try route(event, [], mapping: .string("$.properties"), limit: 10) == [#"{"n":1.50}"#, "id "])
        let large = String(repeating: "x", count: 1000)
        let pieces = String(repeating: "{{ large }}", count: 5000)
        #expect(
            try route(
                event.dropLast() + #","large":"\#(large)"}"#, [], mapping: .list([.string(pieces), .string(pieces)]))
                == ["rejected: mapping: the result exceeds 1048576 bytes (max_event_size)"])
        // Each encoding of a text as JSON doubles its escapes.
        var encoded = MappingValue.string("$.properties")
        for _ in 0..<14 {
            encoded = .object([.init("$json", .object([.init("mode", .string("encode")), .init("value", encoded)]))])
        }
        #expect(
            try route(event, [], mapping: encoded, limit: 4096)
                == ["rejected: mapping: the result exceeds 4096 bytes (max_event_size)"])
    }

    @Test(arguments: [
        ("dead_letter", "rejected: lua: /etc/penstock/p.yaml:12: attempt to index a nil value (field 'x')"),
        ("drop", "filtered: lua"), ("pass", event),
    ])
    func `on_error decides the outcome of an event that the script fails on`(
        _ policy: String, _ expected: String
    ) throws {
        let steps = try transforms(
            """
            - lua:
                on_error: \(policy)
                script: |
                  local a = 1
                  event.x.y = a
                  return event
            """)
        #expect(try route(event, steps).first == expected)
    }

    @Test
    func `the configured limits apply to a script`() throws {
        let steps = try transforms(
            """
            - lua:
                instructions: 5000
                script: |
                  for i = 1, event.properties.n do end
                  return event
            """)
        #expect(try route(event.replacing("1.50", with: "1000"), steps).last == "id m")
        #expect(
            try route(event.replacing("1.50", with: "100000"), steps)
                == ["rejected: lua: /etc/penstock/p.yaml:11: stopped after 5000 instructions"])
    }

    @Test(arguments: [
        ("|\n    local a = 1\n    error('x')", 10, "x"),
        (">\n    local a =\n    1\n\n    error('x')", 12, "x"),
        ("\"local a = 1\\nerror('x')\"", 8, "x"),
        ("\"local a = 1\n\n    error('x')\"", 10, "x"),
        ("\"local a = 1\\r\\n\\\n    error('x')\"", 9, "x"),
        ("|4\n          local a = 1\n        error('x')", 10, "x"),
        (
            "|\n    local function f()\n      while true do end\n    end\n    f()", 10,
            "stopped after 200000 instructions"
        ),
        (
            "|\n    local a = 1\n    local s = ('x'):rep(1e9)", 10,
            "needs more than 8388608 bytes of memory, 524288 for one table, or 262144 for one text"
        ),
        ("|\n    local a = 1\n    return { v = 0/0 }", 9, "JSON has no number nan"),
        ("|\n\n    return 'x'", 9, "the script returned a string, not an event"),
    ])
    func `an error has the line in the file for every way to write a script in YAML`(
        _ script: String, _ line: Int, _ message: String
    ) throws {
        #expect(
            try route(event, transforms("- lua: " + script)) == [
                "rejected: lua: /etc/penstock/p.yaml:\(line): \(message)"
            ])
    }

    @Test
    func `a missing end is reported at the script's end, and line numbers in messages are those of the file`() {
        #expect(
            messages("- lua: |\n    local a = 1\n    if a then\n      a = 2\n\n- drop: [a]")
                == ["11:13 Lua: 'end' expected (to close 'if' at line 10) near <eof>"])
        #expect(
            messages("- lua: |\n    ::a::\n    local x\n    ::a::\n    local y") == [
                "12:11 Lua: label 'a' already defined on line 9"
            ])
        #expect(messages("- lua: |\n    local x = 1 'at line 1'") == ["9:11 Lua: unexpected symbol near ''at line 1''"])
        #expect(messages("- lua: |\n    x 'at line 1") == ["9:11 Lua: unfinished string near ''at line 1'"])
    }

    @Test(arguments: ["''", "\"  \\n\"", "|\n\n", "{ script: '' }"])
    func `an empty script is an error`(_ script: String) {
        let found = messages("- lua: " + script)
        #expect(found.count == 1 && found.first?.hasSuffix("the script is empty, so it would drop every event") == true)
    }

    @Test
    func `a syntax error and invalid limits are reported at their lines`() {
        #expect(
            messages("- lua: |\n    local a = 1\n      a a\n    return event")
                == ["10:13 Lua: syntax error near 'a'"])
        #expect(
            messages("- lua: { script: 'return event', memory: 5KiB }") == [
                "8:48 \"memory\" must be from 1MiB to 1GiB"
            ])
        #expect(messages("- lua: { script: 'return event', time: 1m }") == ["8:46 \"time\" must be from 1ms to 10s"])
        #expect(
            messages("- lua: { script: 'return event', on_error: pas }") == [
                "8:50 \"on_error\" must be one of drop, pass, dead_letter"
            ])
        #expect(messages("- lua: { on_error: pass }") == ["8:14 \"lua\" needs \"script\""])
    }
}
