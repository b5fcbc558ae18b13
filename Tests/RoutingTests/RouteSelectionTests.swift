import Events
import Testing

@testable import Routing

/// A reader may leave out an event only if no route matches it. The router's verdict on it must be `no_route`.
@Suite struct RouteSelectionTests {
    static let events = [
        #"{"type":"track","event":"A","userId":"u"}"#, #"{"type":"track","event":"B"}"#,
        #"{"type":"track","event":"C","integrations":{"All":false}}"#, #"{"type":"track","event":""}"#,
        #"{"type":"track","event":"\u0041"}"#, #"{"type":"page","name":"A"}"#, #"{"type":"page","event":"A"}"#,
        #"{"type":"page","event":null}"#, #"{"type":"identify","userId":"u"}"#, #"{"type":"screen","name":"B"}"#,
    ].map { SampleEvent($0) }

    static func router(_ filters: [String], pipeline: [Transform] = []) throws -> DestinationRouter {
        DestinationRouter(
            name: "out", pipeline: pipeline,
            routes: try filters.map { .init(filter: try Filter(parsing: $0), transforms: []) },
            journal: [UInt8](repeating: 0, count: 16))
    }

    static func takes(_ selection: any EventSelection, _ event: SampleEvent) -> Bool {
        selection.mayTake(event.record.index, event.batch.json(of: event.record))
    }

    @Test(arguments: [
        (#"event = "A""#, ["track A", "track \\u0041", "page event"]),
        (#"type = "track" and event in ["A", "C"]"#, ["track A", "track C", "track \\u0041", "page event"]),
        (#"type = "page" or event = "B""#, ["track B", "track \\u0041", "page A", "page event", "page null"]),
        (
            #"(type = "page" or event = "B") and userId = "u""#,
            ["track B", "track \\u0041", "page A", "page event", "page null"]
        ),
        (#"type in ["identify", "screen"]"#, ["identify", "screen B", "track \\u0041", "page event"]),
        (#"event = "A" and type = "page""#, ["track \\u0041", "page event"]),
        (#"event = "A" and event = "B""#, ["track A", "track \\u0041", "page event"]),
        ("false", ["track \\u0041", "page event"]),
    ])
    func `an event whose type or name no route takes is left out`(filter: String, taken: [String]) throws {
        let names = [
            "track A", "track B", "track C", "track empty", "track \\u0041", "page A", "page event", "page null",
            "identify", "screen B",
        ]
        let selection = try #require(try Self.router([filter]).selection)
        #expect(selection.reason == "no_route")
        let found = zip(names, Self.events).filter { Self.takes(selection, $1) }.map(\.0)
        #expect(Set(found) == Set(taken))
    }

    @Test(arguments: [
        "true", #"userId = "u""#, #"event != "A""#, #"!(event = "A")"#, #"event in ["A", null]"#,
        #"event = "A" or context.os.name = "iOS""#, #"contains(event, "A")"#, #"event = 5"#,
    ])
    func `nothing is left out where any type may match`(filter: String) throws {
        #expect(try Self.router([filter]).selection == nil)
        #expect(try Self.router([#"event = "B""#, filter]).selection == nil)
    }

    @Test func `nothing is left out before transforms that may change the name`() throws {
        let pipeline = try transforms("- set: { event: A }")
        #expect(try Self.router([#"event = "A""#], pipeline: pipeline).selection == nil)
    }

    /// Random conditions on types, names and other fields.
    private static func condition(_ depth: Int, _ random: inout FilterFuzzTests.Generator) -> String {
        let leaves = [
            #"event = "A""#, #""B" = event"#, #"event in ["A", "B"]"#, #"event in []"#, #"event in ["C", null, 1]"#,
            #"event != "A""#, #"type = "track""#, #""page" = type"#, #"type != "track""#,
            #"type in ["page", "screen"]"#,
            #"userId = "u""#, #"event = "" "#, "true", "false", #"event = null"#, #"lowercase(event) = "a""#,
            #"event = userId"#, #"type = "nothing""#, #"name = "A""#,
        ]
        guard depth > 0, Int.random(in: 0..<4, using: &random) > 0 else {
            return leaves.randomElement(using: &random) ?? "true"
        }
        let parts = (0..<Int.random(in: 1...3, using: &random)).map { _ in condition(depth - 1, &random) }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return "(" + parts.joined(separator: " and ") + ")"
        case 1: return "(" + parts.joined(separator: " or ") + ")"
        default: return "!(" + parts[0] + ")"
        }
    }

    @Test func `what is left out would be filtered, whatever the filters`() throws {
        var random = FilterFuzzTests.Generator(state: 20_261_128)
        var (leftOut, routed) = (0, 0)
        for _ in 0..<3000 {
            let filters = (0..<Int.random(in: 1...3, using: &random)).map { _ in Self.condition(3, &random) }
            let router = try Self.router(filters)
            let parsed = try filters.map { try Filter(parsing: $0) }
            for event in Self.events {
                var output: [UInt8] = []
                let verdict = router.route(event.record, of: event.batch, into: &output)
                if !parsed.contains(where: { event.passes($0) }) {
                    #expect(verdict == .filtered(reason: "no_route"), "\(filters)")
                } else {
                    #expect(verdict != .filtered(reason: "no_route"), "\(filters)")
                    routed += 1
                }
                guard let selection = router.selection, !Self.takes(selection, event) else { continue }
                #expect(verdict == .filtered(reason: "no_route"), "\(filters)")
                leftOut += 1
            }
        }
        // Both must have been tried often.
        #expect(leftOut > 1000 && routed > 1000, "\(leftOut) \(routed)")
    }

    @Test(arguments: [#"event in ["Caf\u{E9}", "Cafe\u{301}"]"#, #"event = "Caf\u{E9}" or event = "Cafe\u{301}""#])
    func `names that differ only in their form of Unicode are two names`(escaped: String) throws {
        let filter = escaped.replacing(#"\u{E9}"#, with: "\u{E9}").replacing(#"\u{301}"#, with: "\u{301}")
        let router = try Self.router([filter])
        let selection = try #require(router.selection)
        for name in ["Caf\u{E9}", "Cafe\u{301}"] {
            let event = SampleEvent("{\"type\":\"track\",\"event\":\"\(name)\",\"messageId\":\"m\"}")
            var output: [UInt8] = []
            let verdict = router.route(event.record, of: event.batch, into: &output)
            guard case .routed = verdict else {
                Issue.record("\(verdict)")
                continue
            }
            #expect(Self.takes(selection, event))
        }
        #expect(!Self.takes(selection, SampleEvent(#"{"type":"track","event":"Cafe"}"#)))
    }

    @Test func `nothing is left out for a destination that reads the sender of events`() throws {
        #expect(try Self.router([#"event = "A" and context.penstock.source = "apps""#]).selection == nil)
    }

    @Test func `what is no event is never left out, so that it becomes a dead letter`() throws {
        let selection = try #require(try Self.router([#"event = "A""#]).selection)
        let (brace, empty) = (Array("{".utf8), Array("{}".utf8))
        let isTaken = (
            brace: selection.mayTake(EventIndex(kind: .track), brace.span),
            empty: selection.mayTake(EventIndex(kind: .track), empty.span)
        )
        #expect(isTaken.brace && !isTaken.empty)
    }
}
