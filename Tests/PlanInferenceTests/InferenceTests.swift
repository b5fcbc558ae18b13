import DaemonConfiguration
import Events
import PlanInference
import Routing
import Testing
import TrackingPlan

/// Plans that are inferred from events.
@Suite struct InferenceTests {
    /// Lines of events, as the journal has them.
    struct Scanned {
        var bytes: [UInt8]
        var events: [ScannedEvent] = []

        init(_ lines: [String]) throws {
            bytes = lines.flatMap { Array($0.utf8) + [10] }
            var accepted: [ScannedEvent] = []
            var refused: [RefusedLine] = []
            _ = EventScanner(maximumEventSize: 1 << 20, maximumDepth: 64).scan(
                bytes.span, accepted: &accepted, refused: &refused)
            events = accepted
            try #require(refused.isEmpty && events.count == lines.count, "\(lines)")
        }

        func forEach(_ body: (Span<UInt8>, EventIndex) -> Void) {
            for event in events {
                body(
                    bytes.span.extracting(Int(event.offset)..<Int(event.offset) + Int(event.length)), event.index)
            }
        }
    }

    private func infer(_ lines: [String]) throws -> String {
        let inference = PlanInference()
        try Scanned(lines).forEach { inference.observe($0, $1) }
        return PlanText.render(inference, heading: ["Inferred."])
    }

    /// The rules of a plan's text, which must be valid.
    private func rules(_ text: String) throws -> PlanRules {
        let diagnostics = Diagnostics()
        let file = try #require(ConfigurationFile.decode(Array(text.utf8), path: "p.yaml", diagnostics))
        let plan = TrackingPlan.read(file, diagnostics)
        let rules = plan?.rules(diagnostics)
        try #require(!diagnostics.hasErrors, "\(diagnostics.list.prefix(3).map(\.description))\n\(text.prefix(4000))")
        return try #require(rules)
    }

    /// Events that violate a plan.
    private func violations(_ text: String, _ lines: [String]) throws -> [String] {
        let checker = PlanChecker(try rules(text), limit: 5)
        var found: [String] = []
        try Scanned(lines).forEach { json, index in
            if checker.check(json, index) != .conforms {
                found.append(checker.violations.map { "\($0.property): \($0.expected)" }.joined(separator: "; "))
            }
        }
        return found
    }

    private func order(_ number: Int, _ properties: String) -> String {
        #"{"type":"track","event":"Order Completed","userId":"u\#(number)","messageId":"m\#(number)","#
            + #""properties":{\#(properties)}}"#
    }

    @Test func `a plan has the names, the types, and what is always there`() throws {
        let lines = (0..<200).map { number in
            order(
                number,
                #""total":\#(number).5,"count":\#(number),"gift":\#(number % 2 == 0),"currency":"\#(["EUR", "USD"][number % 2])","#
                    + #""at":"2026-01-31T12:00:00Z","note":"text \#(number)","items":[{"sku":"s\#(number)","price":1}]"#
                    + (number % 4 == 0 ? #","coupon":"c\#(number)""# : ""))
        }
        #expect(
            try infer(lines) == """
                # Inferred.
                on_violation: flag
                events:
                  Order Completed:  # 200 events
                    properties:
                      at: { type: date-time, required: true }  # always
                      count: { type: integer, required: true }  # always
                      coupon: string  # in 50 of 200
                      currency: { type: string, enum: ["EUR", "USD"], required: true }  # always
                      gift: { type: boolean, required: true }  # always
                      items:  # always
                        type: array
                        required: true
                        items:  # 200 items
                          type: object
                          properties:
                            price: { type: integer, required: true }  # always
                            sku: { type: string, required: true }  # always
                      note: { type: string, required: true }  # always
                      total: { type: number, required: true }  # always

                """)
        #expect(try violations(try infer(lines), lines).isEmpty)
        #expect(try violations(try infer(lines), [order(1, "")]).count == 1)
    }

    @Test func `pages, screens, users and groups are in the plan by their own rules`() throws {
        let lines = [
            #"{"type":"page","userId":"u","messageId":"1","name":"Home","properties":{"url":"/"}}"#,
            #"{"type":"page","userId":"u","messageId":"2"}"#,
            #"{"type":"screen","userId":"u","messageId":"3","name":"true"}"#,
            #"{"type":"identify","userId":"u","messageId":"4","traits":{"plan":null,"age":1}}"#,
            #"{"type":"identify","userId":"u","messageId":"5","context":{"traits":{"age":2,"seen":{}}}}"#,
            #"{"type":"group","userId":"u","groupId":"g","messageId":"6"}"#,
            #"{"type":"alias","userId":"u","previousId":"v","messageId":"7"}"#,
        ]
        let text = try infer(lines)
        #expect(
            text.hasSuffix(
                """
                pages:
                  "": {}  # 1 event
                  Home:  # 1 event
                    properties:
                      url: { type: string, required: true }  # always
                screens:
                  "true": {}  # 1 event
                identify:  # 2 events
                  traits:
                    age: { type: integer, required: true }  # always
                    plan: {}  # in 0 of 2
                    seen: object  # in 1 of 2
                group: {}  # 1 event

                """), "\(text)")
        #expect(try violations(text, lines).isEmpty)
    }

    @Test func `a set of texts needs few texts, many events and several users`() throws {
        func plan(_ count: Int, users: Int, _ value: (Int) -> String) throws -> String {
            try infer((0..<count).map { order($0 % users, #""p":"\#(value($0))""#) })
        }
        #expect(try plan(60, users: 30) { ["a", "b"][$0 % 2] }.contains(#"enum: ["a", "b"]"#))
        #expect(try !plan(30, users: 30) { ["a", "b"][$0 % 2] }.contains("enum"), "too few events")
        #expect(try !plan(60, users: 4) { ["a", "b"][$0 % 2] }.contains("enum"), "too few users")
        #expect(try !plan(600, users: 600) { "v\($0 % 11)" }.contains("enum"), "too many texts")
        // One user's own value hides the others, too: the set would not be complete.
        #expect(try !plan(600, users: 60) { $0 % 60 == 7 ? "mine" : "all" }.contains("enum"))
    }

    @Test(arguments: [
        "ada@example.com", "+49 30 1234567", "192.168.10.200", "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "4111 1111 1111 1111", "Bearer abcdefgh1234", "a1b2c3defghijklm", String(repeating: "x", count: 41), "",
        "\\u0000",
    ])
    func `a value that may identify a person is never in the plan`(_ value: String) throws {
        let text = try infer((0..<400).map { order($0, #""p":"\#($0 % 2 == 0 ? value : "fine")""#) })
        #expect(!text.contains("enum") && text.contains("p: { type: string, required: true }"), "\(text)")
        #expect(value.isEmpty || !text.contains(value))
    }

    @Test func `a name that may identify a person is left out, and the plan says so`() throws {
        let lines = (0..<10).map {
            #"{"type":"track","event":"E","userId":"u","messageId":"\#($0)","properties":{"ada\#($0)@example.com":1,"x":2}}"#
        }
        let text = try infer(lines + [lines[0].replacing("\"E\"", with: "\"ada@example.com\"")])
        #expect(!text.contains("example.com"))
        #expect(text.contains("    additional: true  # other names: not listed\n"), "\(text)")
        #expect(text.contains("# 1 event with other names, which cannot be in a plan, look like personal data"))
        #expect(try violations(text, lines).isEmpty)
    }

    @Test func `hostile names are quoted, and large ones are left out`() throws {
        let names = [
            #"\""#, #"\\"#, "a: b", "# c", "- d", "{e", "[f", "&g", "*h", "!i", "|", ">", "%j", "@k", "`l", "'", "~",
            "null",
            "yes", "1", "1.5", "Step 123 of the Checkout", "0x1F", "<<", "=", "?", ": ", " lead", "trail ", "ü", "日本語",
            "😀",
            #"\u202e"#, #"\u2028"#, #"\u00a0"#, #"\ud83d\ude00"#, "a\\/b",
        ]
        let lines = names.filter { !$0.contains("@") }.enumerated().map { number, name in
            #"{"type":"track","event":"\#(name)","userId":"u","messageId":"\#(number)","properties":{"\#(name)":"\#(name)"}}"#
        }
        let text = try infer(lines)
        #expect(try violations(text, lines) == [], "\(text)")
        #expect(!text.unicodeScalars.contains("\u{202E}") && !text.unicodeScalars.contains("\u{2028}"))
        let large = String(repeating: "x", count: 100_000)
        let others = [
            #"{"type":"track","event":"\#(large)","userId":"u","messageId":"1"}"#,
            #"{"type":"track","event":"line\nfeed","userId":"u","messageId":"1"}"#,
            #"{"type":"track","event":"\ufeff","userId":"u","messageId":"1"}"#,
            #"{"type":"track","event":"E","userId":"u","messageId":"2","properties":{"\#(large)":1,"line\nfeed":2}}"#,
        ]
        let short = try infer(others)
        #expect(short.utf8.count < 1_000 && short.contains("# 3 events with other names"), "\(short.prefix(2000))")
        #expect(try violations(short, [others[3]]).isEmpty)
    }

    @Test func `names, properties and nesting are bounded, and the plan stays valid`() throws {
        let deep = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
        let lines = (0..<600).map { number in
            let members = (0..<120).map { #""property number \#(number) and \#($0)":\#($0 == 5 ? deep : "1")"# }
            return #"{"type":"track","event":"\#(String(repeating: "n", count: 190))\#(number)","userId":"u","#
                + #""messageId":"m","properties":{\#(members.joined(separator: ","))}}"#
        }
        let text = try infer(lines)
        #expect(text.utf8.count < 1 << 20)
        #expect(text.contains("# 100 events with other names"))
        #expect(try violations(text, Array(lines.prefix(500))).isEmpty)
    }

    @Test func `if a name occurs twice, the last one counts`() throws {
        let lines = [
            order(1, #""a":1,"a":null,"b":null,"b":2"#), order(2, #""a":1,"b":2"#), order(3, #""\u0061":1,"b":1"#),
        ]
        let text = try infer(lines)
        #expect(text.contains("a: integer  # in 2 of 3") && text.contains("b: { type: integer, required: true }"))
        #expect(try violations(text, lines).isEmpty)
    }

    @Test func `events of several shapes conform to the plan that is inferred from them`() throws {
        var random = Generator(state: 5)
        for round in 0..<60 {
            let lines = (0..<Int.random(in: 1..<150, using: &random)).map { number in
                let kind = ["track", "page", "screen", "identify", "group"].randomElement(using: &random) ?? "track"
                let name = ["A", "B", "C d", "é"].randomElement(using: &random) ?? "A"
                let key = kind == "identify" || kind == "group" ? "traits" : "properties"
                let body = Int.random(in: 0..<6, using: &random) == 0 ? "null" : object(&random, 3)
                return
                    #"{"type":"\#(kind)","event":"\#(name)","name":"\#(name)","userId":"u\#(number % 9)","groupId":"g","#
                    + #""messageId":"m\#(number)","\#(key)":\#(body)}"#
            }
            let text = try infer(lines)
            #expect(try violations(text, lines) == [], "round \(round):\n\(text)")
        }
    }

    private func object(_ random: inout Generator, _ depth: Int) -> String {
        let members = (0..<Int.random(in: 0..<5, using: &random)).map { _ in
            let name = ["a", "b", "\\u0061", "c: #", "ü"].randomElement(using: &random) ?? "a"
            return #""\#(name)":\#(value(&random, depth))"#
        }
        return "{\(members.joined(separator: ","))}"
    }

    private func value(_ random: inout Generator, _ depth: Int) -> String {
        switch Int.random(in: 0..<(depth == 0 ? 6 : 9), using: &random) {
        case 0: return ["1", "1.0", "1.5", "-3", "1e400", "0"].randomElement(using: &random) ?? "1"
        case 1: return [#""x""#, #""y""#, #""null""#, #""1""#].randomElement(using: &random) ?? "1"
        case 2: return ["true", "false"].randomElement(using: &random) ?? "true"
        case 3: return "null"
        case 4: return [#""2026-01-31T12:00:00Z""#, #""2026-01-31""#].randomElement(using: &random) ?? "1"
        case 5: return #""\u0078""#
        case 6:
            let items = (0..<Int.random(in: 0..<4, using: &random)).map { _ in value(&random, depth - 1) }
            return "[\(items.joined(separator: ","))]"
        default: return object(&random, depth - 1)
        }
    }
}

/// A generator that produces the same numbers in every run.
struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let mixed = (state ^ state >> 31) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed >> 29
    }
}
