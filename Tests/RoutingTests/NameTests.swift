import Routing
import Testing

@Suite("Transforms of names")
struct NameTests {
    @Test(arguments: [
        ("Order Completed", "order_completed", "order-completed", "orderCompleted", "Order Completed"),
        ("order_completed", "order_completed", "order-completed", "orderCompleted", "Order Completed"),
        ("HTTPServer2Go", "http_server2_go", "http-server2-go", "httpServer2Go", "Http Server2 Go"),
        ("userID", "user_id", "user-id", "userId", "User Id"),
        ("  two  spaces ", "  two_spaces", "  two-spaces", "  twoSpaces", "  Two Spaces"),
        ("$insert_id", "$insert_id", "$insert-id", "$insertId", "$Insert Id"),
        ("a.b-c_d", "a_b_c_d", "a-b-c-d", "aBCD", "A B C D"),
        ("Straße Öffnet", "straße_öffnet", "straße-öffnet", "straßeÖffnet", "Straße Öffnet"),
        ("___", "___", "___", "___", "___"),
        ("ÉtatCivil", "état_civil", "état-civil", "étatCivil", "État Civil"),
    ])
    func `name_case writes all spellings of a name in the same way`(
        _ name: String, _ snake: String, _ kebab: String, _ camel: String, _ title: String
    ) throws {
        let spellings = [
            ("snake", snake), ("kebab", kebab), ("camel", camel), ("title", title), ("upper_snake", snake.uppercased()),
        ]
        for (to, expected) in spellings {
            #expect(
                try transformed(track(#""properties":{"\#(name)":1},"traits":null"#, event: name), "- name_case: \(to)")
                    == track(#""properties":{"\#(expected)":1},"traits":null"#, event: expected))
        }
    }

    @Test
    func `name_case changes keys at every depth or only at the first, and never values`() throws {
        let before = track(
            #""properties":{ "A b":{"C d":"E f"}, "l":[{"G h":1},"I j"],"\u0041 k":2},"context":{"X y":1}"#)
        #expect(
            try transformed(before, "- name_case: { to: snake, events: false }")
                == track(#""properties":{ "a_b":{"c_d":"E f"}, "l":[{"g_h":1},"I j"],"a_k":2},"context":{"X y":1}"#))
        #expect(
            try transformed(before, "- name_case: { to: snake, deep: false, events: false }")
                == track(#""properties":{ "a_b":{"C d":"E f"}, "l":[{"G h":1},"I j"],"a_k":2},"context":{"X y":1}"#))
        #expect(
            try transformed(before, "- name_case: { to: kebab, keys: false }")
                == before.replacing("Signed Up", with: "signed-up"))
    }

    @Test
    func `rename_events renames the events in its table`() throws {
        let yaml = #"- rename_events: { Signed Up: sign_up, "Say \"hi\"": greet, Other: "o\"" }"#
        #expect(try transformed(track(""), yaml) == track("", event: "sign_up"))
        #expect(try transformed(track("", event: #"Say \"h\u0069\""#), yaml) == track("", event: "greet"))
        #expect(try transformed(track("", event: "Other"), yaml) == track("", event: #"o\""#))
        #expect(try transformed(track("", event: "Signed up"), yaml) == track("", event: "Signed up"))
    }

    @Test(arguments: [
        ("native", "start", "dropped by timed"), ("native", "stop", "T 7"), ("suffix", "start", "T_START"),
        ("suffix", "stop", "T_STOP"), ("both", "start", "T_START"), ("both", "stop", "T_STOP 7"),
        ("ignore", "start", "dropped by timed"), ("ignore", "stop", "dropped by timed"), ("native", "pause", "T"),
    ])
    func `timed gives events a duration, a suffix or both, or drops them`(
        _ mode: String, _ phase: String, _ expected: String
    ) throws {
        let timing = #""context":{"timing":{"id":"t","phase":"\#(phase)","duration":7}}"#
        let parts = expected.split(separator: " ")
        let event =
            expected.hasPrefix("dropped")
            ? expected
            : track(timing + (parts.count > 1 ? #","properties":{"duration":7}"# : ""), event: String(parts[0]))
        #expect(try transformed(track(timing, event: "T"), "- timed: \(mode)") == event)
        #expect(try transformed(track("", event: "T"), "- timed: \(mode)") == track("", event: "T"))
    }

    @Test
    func `a timed event's name can have another spelling than its suffix`() throws {
        let timing = #""context":{"timing":{"id":"t","phase":"start"}}"#
        for (yaml, name) in [
            ("case: upper_snake", "ONBOARDING_FLOW_START"), ("case: snake", "onboarding_flow_START"),
            ("start: Begun, case: camel", "onboardingFlowBegun"),
        ] {
            let timed = try transformed(track(timing, event: "Onboarding Flow"), "- timed: { as: suffix, \(yaml) }")
            #expect(timed == track(timing, event: name))
        }
        let escaped = try transformed(
            track(timing, event: #"Say \"h\u0069\""#), "- timed: { as: suffix, case: upper_snake }")
        #expect(escaped == track(timing, event: #"SAY_\"HI\"_START"#))
    }

    @Test
    func `session copies a session to traits or properties, or removes it`() throws {
        let session = #""context":{"session":{"id":"s","kind":"guest","tier":[1]}}"#
        let identify = #"{"type":"identify","messageId":"m","userId":"u",\#(session),"traits":{"session_kind":"x"}}"#
        let merged = identify.replacing(#""x"}"#, with: #""x","session_id":"s","session_tier":[1]}"#)
        #expect(try transformed(identify, "- session: native") == merged)
        #expect(try transformed(identify, "- session: properties") == merged)
        #expect(try transformed(track(session), "- session: native") == track(session))
        #expect(
            try transformed(track(session), "- session: properties")
                == track(session + #","properties":{"session_id":"s","session_kind":"guest","session_tier":[1]}"#))
        #expect(try transformed(track(session), "- session: ignore") == track(#""context":{}"#))
        #expect(
            try transformed(track(session + #","properties":{ }"#), "- session: { as: properties, prefix: s. }")
                == track(session + #","properties":{ "s.id":"s","s.kind":"guest","s.tier":[1]}"#))
    }
}
