import Testing

@testable import Routing

@Suite("Advice on fields")
struct FieldAdviceTests {
    private static let missing = "so this is always missing"

    @Test(arguments: [
        (
            "typ = track",
            [
                "0+3 events have no field typ: did you mean type?",
                "6+5 events have no field track: did you mean \"track\"? put text in quotes",
            ]
        ),
        ("type = track", ["7+5 events have no field track: did you mean \"track\"? put text in quotes"]),
        ("type = \"track\" and evnt = \"A\"", ["19+4 events have no field evnt: did you mean event?"]),
        ("propertes.total > 5", ["0+15 events have no field propertes: did you mean properties.total?"]),
        (
            "plan = \"pro\"",
            ["0+4 events have no field plan: put your own fields in properties, traits or context: properties.plan"]
        ),
        ("track = type", ["0+5 events have no field track: did you mean \"track\"? put text in quotes"]),
        ("contains(event, Order)", ["16+5 events have no field Order: did you mean \"Order\"? put text in quotes"]),
        (
            "!debug",
            ["1+5 events have no field debug: put your own fields in properties, traits or context: properties.debug"]
        ),
        ("lowercase(type) = track", ["18+5 events have no field track: did you mean \"track\"? put text in quotes"]),
        ("user_id in [\"a\"]", ["0+7 events have no field user_id: did you mean userId?"]),
    ])
    func `a field that no event has gets a warning at its place in the filter`(_ filter: String, _ expected: [String]) {
        #expect(FieldAdvice().filter(filter).map(Self.shown) == expected)
    }

    @Test(arguments: [
        ("type = \"trak\"", "did you mean \"track\"?"), ("\"Track\" = type", "did you mean \"track\"?"),
        ("type in [\"track\", \"pgae\"]", "did you mean \"page\"?"),
        ("type != \"purchase\"", "the types are track, identify, page, screen, group, alias"),
    ])
    func `a comparison of the type with an unknown type gets a warning`(_ filter: String, _ hint: String) {
        #expect(FieldAdvice().filter(filter).map(\.hint) == [hint])
    }

    @Test(arguments: [
        "true", "type = \"track\"", "type in [\"track\", \"page\"]", "properties.any.thing = traits.other",
        "context.penstock.source = \"a\"",
        "\\region = \"eu\"", "\\plan.name = \"x\"", "userId != anonymousId", "match(name, \"A*\") or !previousId",
        "writeKey = \"k\"",
        "integrations.All = false", "event = properties.label", "type =",
    ])
    func `a filter with clear meaning has no warning`(_ filter: String) {
        #expect(FieldAdvice().filter(filter).isEmpty)
    }

    @Test
    func `a name that a transform or a script writes is known, unless it resembles a standard name`() {
        var names = EventFieldNames()
        names.insert("region")
        names.insert("evnt")
        names.insert(wordsOf: "event.shard = 3; return event")
        let advice = FieldAdvice(names)
        #expect(advice.filter("region = \"eu\" and shard = 3").isEmpty)
        #expect(advice.filter("evnt = \"A\"").count == 1)
        #expect(advice.path("regions", isWritten: true) != nil && advice.path("tenant", isWritten: true) == nil)
    }

    @Test(
        arguments: [
            ("$.evnt", "2+4 events have no field evnt: did you mean $.event?"),
            ("$.secret.k", "0+10 a secret is not filled in here"),
            ("a {{ secrets.k }}", "5+9 events have no field secrets: did you mean {{ secret.k }}?"),
            (
                "{{ env.TOKEN }}",
                "3+9 events have no field env: environment variables are not read; a secret is written {{ secret.NAME }}"
            ),
            ("{{ secret }}", "3+6 events have no field secret: a secret is written {{ secret.NAME }}"),
            ("$properties.plan", "0+16 this is a constant text; a path begins with \"$.\""),
            ("$.event", nil), ("{{ secret.k }}", nil), ("$insert_id", nil), ("$set.plan", nil), ("text", nil),
            ("$.\\plan", nil), ("{{ \\plan }}", nil),
        ] as [(String, String?)])
    func `a doubtful value in a mapping gets a warning`(_ text: String, _ expected: String?) {
        #expect(FieldAdvice().value(text, secrets: true).map(Self.shown) == (expected.map { [$0] } ?? []))
    }

    private static func shown(_ error: FilterError) -> String {
        let message = error.message.replacing(", " + missing, with: "")
        let hint =
            error.message.hasPrefix("events")
            ? ": " + (error.hint ?? "").replacing(/;? if your events.*/, with: "") : ""
        return "\(error.column)+\(error.length) \(message)\(hint)"
    }
}

@Suite("Return values of scripts")
struct ScriptReturnTests {
    @Test(arguments: [
        "return event", "event.a = 1 return event", "if event.type == 'page' then return nil end return event",
        "return { event, event }",
        "local function f(x) return x end\nreturn f(event)", "do return event end", "if x then return end return event",
        "return nil, event", "for i = 1, 2 do if i == 2 then return event end end", "while true do return event end",
        "repeat local a = 1 until true; return event", "return(event)", "return -- the event\n event", "return [[{}]]",
        "return 'x'",
    ])
    func `a script that can return a value is recognized`(_ script: String) { #expect(ScriptReturns.value(in: script)) }

    @Test(arguments: [
        "event.a = 1", "return", "return nil", "return;", "if event.type == 'page' then return nil end",
        "local f = function() return event end",
        "local function f(x) if x then return x end end f(event)", "-- return event",
        "--[[ return event ]] event.a = 1",
        "local s = 'return event'", "local s = [==[ return event ]] ]==]", "local s = \"\\\" return event\"",
        "while true do return end",
        "if a then return else return nil end", "local returned = event", "[[",
    ])
    func `a script that returns no value is recognized`(_ script: String) { #expect(!ScriptReturns.value(in: script)) }
}
