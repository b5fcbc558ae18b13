import Configuration
import Events
import Testing

@testable import Routing

/// What a router with these transforms, and perhaps a mapping, makes of an event.
private func route(_ event: String, _ steps: [Transform], mapping: MappingValue? = nil, limit: Int = 1 << 20) throws -> [String] {
    let setting = try mapping.map { MappingSetting(try Mapping($0), limit: limit) { _ in "" } }
    let router = DestinationRouter(
        name: "out", routes: [.init(filter: .always, transforms: steps)], mapping: setting,
        journal: [UInt8](repeating: 1, count: 16))
    let sample = SampleEvent(event)
    var output = Array("kept\n".utf8)
    let verdict = router.route(sample.record, of: sample.batch, into: &output)
    func text(_ range: Range<Int>) -> String { String(decoding: output[range], as: UTF8.self) }
    switch verdict {
    case .routed(let id): return [text(5..<output.count), "id \(text(id))"]
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
    @Test("A script stands among other transforms, with a where of its own")
    func amongOthers() throws {
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

    @Test("Several events of one go on each by itself, with ids of their own")
    func several() throws {
        let steps = try transforms("- lua: return { event, event, { type = 'track', event = 'B', userId = 'u' } }")
        let derived = MessageID.derived(journal: [UInt8](repeating: 1, count: 16), position: 7)
        #expect(
            try route(event, steps) == [
                event, event.replacing(#""m""#, with: #""m:1""#),
                #"{"event":"B","type":"track","userId":"u","messageId":"\#(derived):2"}"#, "id m", "id m:1", "id \(derived):2",
            ])
    }

    @Test("A mapping is made of each of them")
    func mapped() throws {
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

    @Test("A mapping that comes to nothing filters the event out, one that is too large rejects it")
    func mappingOutcomes() throws {
        #expect(try route(event, [], mapping: .string("$.properties.none")) == ["filtered: mapping"])
        #expect(try route(event, [], mapping: .string("$.properties"), limit: 9) == ["rejected: mapping: what it makes of the event has more than 9 bytes (max_event_size)"])
        #expect(try route(event, [], mapping: .string("$.properties"), limit: 10) == [#"{"n":1.50}"#, "id "])
        let large = String(repeating: "x", count: 1000)
        let pieces = String(repeating: "{{ large }}", count: 5000)
        #expect(
            try route(event.dropLast() + #","large":"\#(large)"}"#, [], mapping: .list([.string(pieces), .string(pieces)]))
                == ["rejected: mapping: what it makes of the event has more than 1048576 bytes (max_event_size)"])
        // Text encoded as text, again and again, doubles its escapes each time.
        var encoded = MappingValue.string("$.properties")
        for _ in 0..<14 {
            encoded = .object([.init("$json", .object([.init("mode", .string("encode")), .init("value", encoded)]))])
        }
        #expect(
            try route(event, [], mapping: encoded, limit: 4096)
                == ["rejected: mapping: what it makes of the event has more than 4096 bytes (max_event_size)"])
    }

    @Test(
        "What becomes of an event that the script fails on is the configuration's to say",
        arguments: [
            ("dead_letter", "rejected: lua: /etc/penstock/p.yaml:12: attempt to index a nil value (field 'x')"),
            ("drop", "filtered: lua"), ("pass", event),
        ])
    func onError(_ policy: String, _ expected: String) throws {
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

    @Test("Bounds are those of the configuration")
    func bounds() throws {
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

    @Test(
        "An error is told at the file's line, however the script is written there",
        arguments: [
            ("|\n    local a = 1\n    error('x')", 10, "x"),
            (">\n    local a =\n    1\n\n    error('x')", 12, "x"),
            ("\"local a = 1\\nerror('x')\"", 8, "x"),
            ("\"local a = 1\n\n    error('x')\"", 10, "x"),
            ("\"local a = 1\\r\\n\\\n    error('x')\"", 9, "x"),
            ("|4\n          local a = 1\n        error('x')", 10, "x"),
            ("|\n    local function f()\n      while true do end\n    end\n    f()", 10, "stopped after 200000 instructions"),
            ("|\n    local a = 1\n    local s = ('x'):rep(1e9)", 10,
                "needs more than 8388608 bytes of memory, 524288 for one table, or 262144 for one text"),
            ("|\n    local a = 1\n    return { v = 0/0 }", 9, "JSON has no number nan"),
            ("|\n\n    return 'x'", 9, "the script returned a string, not an event"),
        ])
    func lines(_ script: String, _ line: Int, _ message: String) throws {
        #expect(try route(event, transforms("- lua: " + script)) == ["rejected: lua: /etc/penstock/p.yaml:\(line): \(message)"])
    }

    @Test("An end that is missing is told at the script's end, not at what follows; lines within the message are the file's")
    func missingEnd() {
        #expect(messages("- lua: |\n    local a = 1\n    if a then\n      a = 2\n\n- drop: [a]")
            == ["11:13 Lua: 'end' expected (to close 'if' at line 10) near <eof>"])
        #expect(messages("- lua: |\n    ::a::\n    local x\n    ::a::\n    local y") == ["12:11 Lua: label 'a' already defined on line 9"])
        #expect(messages("- lua: |\n    local x = 1 'at line 1'") == ["9:11 Lua: unexpected symbol near ''at line 1''"])
        #expect(messages("- lua: |\n    x 'at line 1") == ["9:11 Lua: unfinished string near ''at line 1'"])
    }

    @Test("A script with nothing in it is an error", arguments: ["''", "\"  \\n\"", "|\n\n", "{ script: '' }"])
    func nothing(_ script: String) {
        let found = messages("- lua: " + script)
        #expect(found.count == 1 && found.first?.hasSuffix("a script with nothing in it drops every event") == true)
    }

    @Test("A script without meaning is an error at its line, and so are bounds without")
    func syntax() {
        #expect(messages("- lua: |\n    local a = 1\n      a a\n    return event")
            == ["10:13 Lua: syntax error near 'a'"])
        #expect(messages("- lua: { script: 'return event', memory: 5KiB }") == ["8:48 \"memory\" has to be from 1MiB to 1GiB"])
        #expect(messages("- lua: { script: 'return event', time: 1m }") == ["8:46 \"time\" has to be from 1ms to 10s"])
        #expect(messages("- lua: { script: 'return event', on_error: pas }") == ["8:50 \"on_error\" has to be one of drop, pass, dead_letter"])
        #expect(messages("- lua: { on_error: pass }") == ["8:14 \"lua\" needs \"script\""])
    }
}
