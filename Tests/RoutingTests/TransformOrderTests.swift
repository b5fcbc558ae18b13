import Foundation
import Routing
import Testing

/// Transforms share one pass over the event where possible. The result must equal that of separate passes,
/// each on the output of the one before, as in `RouteTracer`.
@Suite("Transforms that share a pass")
struct TransformOrderTests {
    @Test(arguments: [
        (
            "[ { set: { a.b: 1 } }, { sample: 0 } ]", #""a":"text""#,
            "rejected: set: a is not an object, so nothing can be set inside it"
        ),
        (
            "[ { copy: { userId: l.3 } }, { sample: 0 } ]", #""l":[1]"#,
            "rejected: copy: l.3 does not exist, and new items cannot be added to a list"
        ),
        (
            "[ { rename: { l.0: b } }, { timed: ignore }, { sample: 0 } ]", #""l":[1]"#,
            "rejected: rename: l.0 is an item of a list, which has no name to change"
        ),
        ("[ { sample: 0 }, { set: { a.b: 1 } } ]", #""a":"text""#, "dropped by sample"),
        (
            "[ { set: { a.b: 1 } }, { set: { l.2: 1 } } ]", #""l":[],"a":0"#,
            "rejected: set: a is not an object, so nothing can be set inside it"
        ),
        ("[ { set: { a.b.c: 1 }, where: x = 1 }, { sample: 0 } ]", #""a":0"#, "dropped by sample"),
    ])
    func `an edit that cannot be made rejects the event whatever transforms follow`(
        _ yaml: String, _ rest: String, _ expected: String
    ) throws {
        #expect(try transformed(track(rest), yaml) == expected)
        #expect(try oneByOne(track(rest), yaml) == expected)
    }

    @Test
    func `the destination's own filter does not hide an edit that cannot be made`() throws {
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: try transforms("- set: { a.b: 1 }"))],
            filter: try Filter(parsing: "x = 1"), journal: [UInt8](repeating: 1, count: 16))
        #expect(
            outcome(of: router, track(#""a":[]"#))
                == "rejected: set: a.b does not exist, and new items cannot be added to a list")
        #expect(outcome(of: router, track(#""a":{}"#)) == "dropped by where")
    }

    @Test(arguments: [
        (
            "[ { rename: { properties.price: amount } }, { drop: [properties.x] }, { name_case: title } ]",
            #""properties":{"x":1,"price":2, "a b":{"c":[{"d e":3}]}}"#,
            #""properties":{"Amount":2, "A B":{"C":[{"D E":3}]}}"#
        ),
        ("[ { rename: { a: b } }, { mask: [a, b] } ]", #""b":1,"a":"text""#, #""b":"***t""#),
        (
            "[ { set: { properties.o.k: 1 } }, { flatten: {} } ]", #""properties":{"o":null}"#,
            #""properties":{"o_k":1}"#
        ),
        (
            "[ { set: { properties.o.k: { l m: 1 } } }, { name_case: snake } ]", "",
            #""properties":{"o":{"k":{"l_m":1}}}"#
        ),
        ("[ { drop: [o.a] }, { to_string: [o] }, { mask: [o] } ]", #""o":{"a":1}"#, #""o":"**""#),
        ("[ { drop: [o] }, { mask: [o] } ]", #""o":1,"p":2"#, #""p":2"#),
        ("[ { set: { o: 12 } }, { to_string: [o] }, { to_number: [o] } ]", "", #""o":12"#),
        (
            "[ { set: { p.a: 1 } }, { keep: [p.b, p.a] }, { rename: { p.a: c } } ]", #""p":{"b":0,"d":0}"#,
            #""p":{"b":0,"c":1}"#
        ),
    ])
    func `a transform rewrites the value that earlier transforms left`(
        _ yaml: String, _ before: String, _ after: String
    ) throws {
        let (event, expected) = (track(before, event: "1"), track(after, event: "1"))
        #expect(try transformed(event, yaml) == expected)
        #expect(try oneByOne(event, yaml) == expected)
    }

    @Test
    func `an event's name can pass through several transforms`() throws {
        let yaml =
            #"[ { rename_events: { Signed Up: "new \"user\"" } }, { name_case: title }, { rename_events: { "New \"user\"": joinedIn } }, { name_case: kebab } ]"#
        #expect(try transformed(track(""), yaml) == track("", event: "joined-in"))
        #expect(
            try transformed(track("", event: #"a\u0062 \"c"#), "[ { name_case: snake } ]")
                == track("", event: #"ab_\"c"#))
        #expect(try oneByOne(track(""), yaml) == track("", event: "joined-in"))
    }

    @Test
    func `the message id is found after it is rewritten`() throws {
        let yaml =
            #"[ { set: { messageId: "{{ userId }}-x" } }, { drop: [a] }, { mask: { paths: [messageId], show: 1 } } ]"#
        #expect(
            try transformed(#"{"a":1,"messageId":"m","type":"track","event":"E","userId":"u"}"#, yaml)
                == #"{"messageId":"**x","type":"track","event":"E","userId":"u"}"#)
    }

    @Test
    func `random transforms give the same result together as one after the other`() throws {
        var random = FilterFuzzTests.Generator(state: 6)
        for _ in 0..<TransformFuzzTests.rounds * 2 {
            let yaml = (0..<Int.random(in: 2...6, using: &random)).map { _ in "- " + Self.transform(&random) }.joined(
                separator: "\n")
            guard messages(yaml).isEmpty else { continue }
            let (router, tracer) = (try router(yaml), try Self.tracer(yaml))
            for position in 0..<15 {
                let event = Self.event(&random)
                let together = outcome(of: router, event, position: UInt64(position)).components(
                    separatedBy: " with the messageId ")[0]
                let apart = Self.stepwise(tracer, event, position: UInt64(position))
                #expect(together == apart || Self.means(together, apart), "\(yaml)\n\(event)")
            }
        }
    }

    // MARK: The oracle

    private func oneByOne(_ json: String, _ yaml: String) throws -> String {
        Self.stepwise(try Self.tracer(yaml), json)
    }

    /// Compares values, because a duplicate that does not count may be present or not.
    private static func means(_ one: String, _ other: String) -> Bool {
        guard let one = try? JSONSerialization.jsonObject(with: Data(one.utf8)) as? NSDictionary,
            let other = try? JSONSerialization.jsonObject(with: Data(other.utf8)) as? NSDictionary
        else { return false }
        return one == other
    }

    private static func tracer(_ yaml: String) throws -> RouteTracer {
        RouteTracer(name: "out", routes: [.init(filter: .always, transforms: try transforms(yaml))], host: "wall")
    }

    private static func stepwise(_ tracer: RouteTracer, _ json: String, position: UInt64 = 7) -> String {
        let event = SampleEvent(json, position: position)
        guard let trace = tracer.trace(event.record, of: event.batch).events.first else { return "nothing" }
        guard trace.results.isEmpty else { return trace.results.joined(separator: "\n") }
        guard let last = trace.steps.last else { return "nothing" }
        if case .rejected(let reason) = last.outcome { return "rejected: \(reason)" }
        return "dropped by \(last.name)"
    }

    // MARK: Random transforms and events

    private static let paths = [
        "a", "a.b", "a.b.c", "a.d", "properties", "properties.a", "properties.a.b", "properties.new", "properties.l",
        "properties.l.0",
        "properties.l.1.k", "event", "userId", "traits.x", "traits",
    ]

    private static func transform(_ random: inout some RandomNumberGenerator) -> String {
        func path() -> String { paths.randomElement(using: &random) ?? "a" }
        let value =
            ["1", "\"{{ event }}!\"", "$.\(path())", "{ A b: [{ cD: 1 }] }", "null", "text"].randomElement(
                using: &random) ?? "1"
        let list = "[\((0..<Int.random(in: 1...2, using: &random)).map { _ in path() }.joined(separator: ", "))]"
        let made =
            switch Int.random(in: 0..<15, using: &random) {
            case 0, 1: "set: { \(path()): \(value) }"
            case 2, 3: "rename: { \(path()): \(["b", "new", "c\\ d"].randomElement(using: &random) ?? "b") }"
            case 4: "drop: \(list)"
            case 5: "copy: { \(path()): \(path()) }"
            case 6: "move: { \(path()): \(path()) }"
            case 7: "hash: \(list)"
            case 8: "to_string: \(list)"
            case 9: "mask: \(list)"
            case 10: "flatten: \(list)"
            case 11:
                "name_case: { to: \(["snake", "title"].randomElement(using: &random) ?? "camel"), deep: \(Bool.random(using: &random)) }"
            case 12: "keep: [properties.a, a.b.c, properties.l.1]"
            case 13: "enrich: { values: { \(path()): \(value) } }"
            default:
                [
                    "rename_events: { E: F g, F g: E }", "timed: both", "session: properties", "to_number: \(list)",
                    "sample: 90%",
                ].randomElement(using: &random) ?? "sample: 1"
            }
        guard Int.random(in: 0..<4, using: &random) == 0 else { return made }
        return "{ \(made), where: '\(path()) = null' }"
    }

    /// Makes an event without white space between members and without duplicates, because the bytes removed
    /// with a member may depend on the order of the transforms.
    private static func event(_ random: inout some RandomNumberGenerator) -> String {
        func value(_ depth: Int) -> String {
            switch Int.random(in: 0..<(depth > 0 ? 12 : 8), using: &random) {
            case 0: "1.50"
            case 1: "null"
            case 2: "\"4 x\""
            case 3: "\"q\\\"\\u0041 b\""
            case 4: "true"
            case 5: "{}"
            case 6: "[ ]"
            case 7: "\"\""
            case 8, 9: "{\(members(["a", "b", "c", "d", "new", "k", "x y", "aB", "\\u006c"], depth - 1))}"
            default:
                "[\((0..<Int.random(in: 1...3, using: &random)).map { _ in value(depth - 1) }.joined(separator: ", "))]"
            }
        }
        func members(_ names: [String], _ depth: Int) -> String {
            names.shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random)).map {
                "\"\($0)\":" + value(depth)
            }.joined(separator: ",")
        }
        let rest = members(["a", "traits", "x", "new"], 3)
        let properties =
            Bool.random(using: &random) ? ",\"properties\":{\(members(["a", "b", "l", "new", "P q"], 3))}" : ""
        let context = #","context":{"session":{"id":1},"timing":{"phase":"stop","duration":3}}"#
        return
            #"{"type":"track","event":"\#(["E", "Fg H", "q\\\"\\u0041"].randomElement(using: &random) ?? "")","messageId":"m",\#(rest)\#(properties)\#(Bool.random(using: &random) ? context : ""),"userId":"u"}"#
    }
}
