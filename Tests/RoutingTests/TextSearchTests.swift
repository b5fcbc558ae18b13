import Events
import Routing
import Testing

/// A filter `field = "text"` first searches the event's bytes for the text. The same filter with `in ["text"]` reads
/// the event, so the two must agree.
struct TextSearchTests {
    /// Texts, and how events may spell them.
    private static let spellings: [(text: String, json: [String])] = [
        ("", [#""""#]), ("a", [#""a""#, #""\u0061""#]), ("iOS", [#""iOS""#, #""i\u004fS""#]),
        ("i\"S", [#""i\"S""#, #""i\u0022S""#]), ("i\\S", [#""i\\S""#]), ("a/b", [#""a/b""#, #""a\/b""#]),
        ("Zürich", [#""Zürich""#, #""Z\u00fcrich""#]), ("no\nline", [#""no\nline""#]), ("page", [#""page""#]),
        (String(repeating: "long ", count: 40), ["\"" + String(repeating: "long ", count: 40) + "\""]),
    ]
    private static let paths = [
        "properties.a", "properties.b", "context.os.name", "traits.a", "context.traits.a", "context", "name",
        "context.penstock.source", "context.penstock.host", "properties.list.0",
    ]
    private static let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)

    /// - Parameter escapes: also values with escapes, with which the search answers nothing.
    private static func event(_ random: inout FilterFuzzTests.Generator, escapes: Bool) -> String {
        func value(_ random: inout FilterFuzzTests.Generator) -> String {
            switch Int.random(in: 0..<10, using: &random) {
            case 0: return "null"
            case 1: return "17"
            case 2: return #"{"a":"iOS"}"#
            default:
                let values = spellings.flatMap(\.json).filter { escapes || !$0.contains("\\") }
                return values.randomElement(using: &random) ?? "null"
            }
        }
        let kind = Bool.random(using: &random) ? "identify" : "screen"
        let repeated = Bool.random(using: &random) ? #","a":\#(value(&random))"# : ""
        let traits = Bool.random(using: &random) ? #","traits":{"a":\#(value(&random))}"# : ""
        return """
            {"type":"\(kind)","userId":"u","name":\(value(&random)),"properties":{"a":\(value(&random)),\
            "b":\(value(&random)),"list":[\(value(&random))]\(repeated)},\
            "context":{"os":{"name":\(value(&random))},"penstock":{"source":\(value(&random))},\
            "traits":{"a":\(value(&random))}}\(traits)}
            """
    }

    /// Each comparison in both spellings.
    private static func filters() throws -> [(equal: Filter, isIn: Filter)] {
        try paths.flatMap { path in
            try (spellings.map(\.text) + ["apps"]).map { text in
                (try Filter(parsing: "\(path) = '\(text)'"), try Filter(parsing: "\(path) in ['\(text)']"))
            }
        }
    }

    private static func verdict(_ filters: [Filter], _ event: SampleEvent) -> (DestinationRouter.Verdict, [UInt8]) {
        let routes = filters.enumerated().map { number, filter in
            DestinationRouter.Route(name: "\(number)", filter: filter, transforms: [])
        }
        let router = DestinationRouter(name: "d", routes: routes, journal: Array(repeating: 1, count: 16))
        var output: [UInt8] = []
        return (router.route(event.record, of: event.batch, into: &output), output)
    }

    @Test(arguments: [true, false])
    func `a comparison with a text gives the same answer whether the event is read or searched`(
        escapes: Bool
    ) throws {
        var random = FilterFuzzTests.Generator(state: 2_016)
        let filters = try Self.filters()
        var matches = 0
        for _ in 0..<150 {
            let json = Self.event(&random, escapes: escapes)
            let event = SampleEvent(json, from: Self.origin)
            for (equal, isIn) in filters {
                let answer = event.passes(equal)
                #expect(answer == event.passes(isIn), "\(equal) of \(json)")
                if answer { matches += 1 }
            }
        }
        #expect(matches > 500)
    }

    @Test(arguments: [true, false])
    func `routes with comparisons give the same verdict whether the event is read or searched`(escapes: Bool) throws {
        var random = FilterFuzzTests.Generator(state: 77)
        let filters = try Self.filters()
        var (routed, filtered) = (0, 0)
        for round in 0..<400 {
            let json = Self.event(&random, escapes: escapes)
            let event = SampleEvent(json, from: Self.origin)
            let some = (0...round % 5).compactMap { _ in filters.randomElement(using: &random) }
            let (equal, isIn) = (Self.verdict(some.map(\.equal), event), Self.verdict(some.map(\.isIn), event))
            #expect(equal == isIn, "\(some.map(\.equal)) of \(json)")
            if case .filtered = equal.0 { filtered += 1 } else { routed += 1 }
        }
        #expect(routed > 40 && filtered > 40)
    }

    @Test func `several comparisons, some of them negated, give the same answer`() throws {
        let event = SampleEvent(#"{"type":"page","properties":{"plan":"gold","city":"Rome","tier":"x1"}}"#)
        let cases = [
            ("properties.plan = 'silver' or properties.city = 'Oslo' or properties.tier = 'x1'", true),
            ("properties.plan = 'silver' or properties.city = 'Oslo' or properties.tier = 'x2'", false),
            ("properties.plan != 'silver' and !(properties.city = 'Oslo')", true),
            ("properties.plan = 'Rome'", false), ("properties.plan != 'Rome'", true),
            ("'gold' = properties.plan", true),
        ]
        for (text, expected) in cases { #expect(try event.passes(Filter(parsing: text)) == expected, "\(text)") }
    }

    /// That its bytes are not JSON shows whether it was read.
    @Test func `an event is not read if up to two searches exclude every route`() throws {
        let broken = SampleEvent(#"{"type":"track","event":"A","userId":"u","properties":{"a":1,"text":"gold""#)
        let unread = [
            ["properties.plan = 'lead'"], ["properties.plan = 'lead'", "context.os.name = 'iOS'"],
            ["properties.a > 0 and properties.plan = 'lead'"], ["properties.plan = 'lead'", "event = 'B'"],
        ]
        for filters in unread {
            let verdict = Self.verdict(try filters.map { try Filter(parsing: $0) }, broken).0
            #expect(verdict == .filtered(reason: "no_route"), "\(filters)")
        }
        let read = [
            ["properties.plan = 'gold'"], ["properties.a > 0"], ["context.penstock.source = 'apps'"],
            ["properties.x = 'lead'", "properties.y = 'tin'", "properties.z = 'zinc'"],
        ]
        for filters in read {
            let verdict = Self.verdict(try filters.map { try Filter(parsing: $0) }, broken).0
            #expect(verdict == .rejected(reason: "the event's bytes are not the JSON that was accepted"), "\(filters)")
        }
    }
}
