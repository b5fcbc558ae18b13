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

    private static func filter(_ path: String, _ text: String, isIn: Bool) throws -> Filter {
        try Filter(parsing: isIn ? "\(path) in ['\(text)']" : "\(path) = '\(text)'")
    }

    private static func event(_ random: inout FilterFuzzTests.Generator) -> String {
        func value(_ random: inout FilterFuzzTests.Generator) -> String {
            switch Int.random(in: 0..<10, using: &random) {
            case 0: return "null"
            case 1: return "17"
            case 2: return #"{"a":"iOS"}"#
            default: return spellings.randomElement(using: &random)?.json.randomElement(using: &random) ?? "null"
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

    @Test func `a comparison with a text gives the same answer whether the event is read or searched`() throws {
        var random = FilterFuzzTests.Generator(state: 2_016)
        var filters: [(equal: Filter, isIn: Filter, text: String)] = []
        for path in Self.paths {
            for (text, _) in Self.spellings + [("apps", [])] {
                filters.append(
                    (
                        try Self.filter(path, text, isIn: false), try Self.filter(path, text, isIn: true),
                        "\(path) = \(text)"
                    ))
            }
        }
        let origin = Origin(source: "apps", uid: 1, gid: 2, pid: 3)
        var matches = 0
        for _ in 0..<300 {
            let json = Self.event(&random)
            let event = SampleEvent(json, from: origin)
            for (equal, isIn, text) in filters {
                let answer = event.passes(equal)
                #expect(answer == event.passes(isIn), "\(text) of \(json)")
                if answer { matches += 1 }
            }
        }
        #expect(matches > 900)
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
}
