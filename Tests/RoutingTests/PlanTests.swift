import Events
import Routing
import Testing
import TrackingPlan

@testable import DaemonConfiguration

/// Tracking plans applied to events.
@Suite struct PlanTests {
    private static let plan = """
        events:
          Order:
            properties:
              id: { type: string, required: true, pattern: "^o-[0-9]+$" }
              total: { type: number, minimum: 0, maximum: 9007199254740993 }
              count: integer
              kind: { type: string, enum: [new, "again \\"2\\""] }
              rate: { type: integer, enum: [1, 2] }
              gift: boolean
              at: date-time
              any: {}
              tags: { type: array, items: { type: string, enum: [a, b] } }
              place: { type: object, properties: { city: { type: string, required: true }, zip: integer } }
              lines: { type: array, items: { type: object, properties: { sku: { type: string, required: true } } } }
          Free: { additional: true, properties: { n: number } }
          "Q\\u0022": {}
        screens: { Home: { properties: { tab: integer } }, "": {} }
        identify: { traits: { email: { type: string, required: true } } }
        """

    private func enforcer(
        _ mode: PlanEnforcer.OnViolation, plan: String = plan, limit: Int = 20, size: Int = 1 << 16, depth: Int = 64
    ) throws -> PlanEnforcer {
        let diagnostics = Diagnostics()
        let file = ConfigurationFile(path: "plan.yaml", text: plan)
        let rules = TrackingPlan.read(file, diagnostics)?.rules(diagnostics)
        #expect(diagnostics.list.map(\.description) == [])
        return PlanEnforcer(
            try #require(rules), onViolation: mode, limit: limit, maximumEventSize: size, maximumDepth: depth)
    }

    /// The verdict on an event, and the event as it is stored.
    private func judge(_ event: String, _ enforcer: PlanEnforcer, room: Int = .max) throws -> (
        verdict: PlanEnforcer.Verdict, stored: String
    ) {
        let scanner = EventScanner(maximumEventSize: 1 << 16, maximumDepth: 64)
        var (accepted, refused) = ([ScannedEvent](), [ScannedRefusal]())
        let bytes = Array((event + "\n").utf8)
        _ = scanner.scan(bytes.span, accepted: &accepted, refused: &refused)
        let scanned = try #require(accepted.first, "\(refused)")
        let json = bytes.span.extracting(Int(scanned.offset)..<Int(scanned.offset) + Int(scanned.length))
        let verdict = enforcer.judge(json, scanned.index, room: room)
        guard case .edit = verdict else { return (verdict, event) }
        // The stored event must be valid too.
        (accepted, refused) = ([], [])
        _ = scanner.scan((enforcer.edited + [0x0A]).span, accepted: &accepted, refused: &refused)
        #expect(accepted.count == 1 && refused.isEmpty)
        return (verdict, String(decoding: enforcer.edited, as: UTF8.self))
    }

    private func track(_ properties: String, event: String = "Order") -> String {
        #"{"type":"track","event":"\#(event)","userId":"u","properties":\#(properties)}"#
    }

    @Test func `the traits of an identify without any are those of its context`() throws {
        func identify(_ rest: String) -> String { #"{"type":"identify","userId":"u",\#(rest)}"# }
        let missing = try judge(identify(#""context":{}"#), try enforcer(.refuse)).verdict
        #expect(missing != .pass)
        for traits in ["", #""traits":null,"#] {
            let good = identify(traits + #""context":{"traits":{"email":"a@b"}}"#)
            #expect(try judge(good, try enforcer(.refuse)).verdict == .pass)
            let bad = identify(traits + #""context":{"traits":{"email":"a@b","x":1}}"#)
            let stripped = try judge(bad, try enforcer(.strip)).stored
            #expect(stripped.contains(#"{"violations":[{"property":"traits.x","#), "\(stripped)")
            #expect(stripped.hasSuffix(#"],"traits":{"email":"a@b"}}}"#), "\(stripped)")
            // Duplicate keys are removed first, which moves the traits.
            let twice = identify(
                #""groupId":"1","groupId":"2","# + traits + #""context":{"traits":{"email":"a@b","x":1,"x":2}}"#)
            let stored = try judge(twice, try enforcer(.strip)).stored
            #expect(stored.hasSuffix(#""traits":{"email":"a@b"}}}"#), "\(stored)")
        }
        let own = identify(#""traits":{},"context":{"traits":{"email":"a@b"}}"#)
        #expect(try judge(own, try enforcer(.refuse)).verdict != .pass)
    }

    @Test(arguments: [
        #"{"id":"o-1"}"#,
        #"{"id":"o-1","total":9007199254740993,"count":1.0,"rate":2,"gift":false,"at":"2026-01-31T08:00:00+01:00","any":[{}]}"#,
        #"{"id":"o-1","kind":"again \"2\"","tags":["a","b"],"place":{"city":"X","zip":1e3},"lines":[{"sku":""}]}"#,
        // null counts as absent, and the last duplicate of a key counts.
        #"{"id":"o-1","total":null,"place":null}"#, #"{"id":5,"id":"o-1"}"#,
        ##"{"\u0069d":"\u006f-1"}"##,
    ])
    func `an event that matches the plan passes`(_ properties: String) throws {
        #expect(try judge(track(properties), try enforcer(.refuse)).verdict == .pass)
    }

    @Test(arguments: [
        (#"{}"#, "properties.id: expected a string that matches ^o-[0-9]+$, found missing"),
        (#"{"id":null}"#, "properties.id: expected a string that matches ^o-[0-9]+$, found null"),
        (#"{"id":"secret"}"#, "properties.id: expected a string that matches ^o-[0-9]+$, found string"),
        (#"{"id":"o-1","total":-0.1}"#, "properties.total: expected a number from 0 to 9007199254740993, found number"),
        (
            #"{"id":"o-1","total":9007199254740994}"#,
            "properties.total: expected a number from 0 to 9007199254740993, found number"
        ),
        (#"{"id":"o-1","count":1.5}"#, "properties.count: expected an integer, found number"),
        (#"{"id":"o-1","count":"1"}"#, "properties.count: expected an integer, found string"),
        (#"{"id":"o-1","kind":"old"}"#, "properties.kind: expected one of new, again \"2\", found string"),
        (#"{"id":"o-1","rate":3}"#, "properties.rate: expected one of 1, 2, found number"),
        (#"{"id":"o-1","gift":0}"#, "properties.gift: expected a boolean, found number"),
        (
            #"{"id":"o-1","at":"soon"}"#,
            "properties.at: expected a date and time such as 2026-01-31T12:00:00Z, found string"
        ),
        (
            #"{"id":"o-1","tags":["a","c",null]}"#,
            "properties.tags.1: expected one of a, b, found string; properties.tags.2: expected one of a, b, found null"
        ),
        (#"{"id":"o-1","tags":{}}"#, "properties.tags: expected an array, found object"),
        (#"{"id":"o-1","place":{"zip":1}}"#, "properties.place.city: expected a string, found missing"),
        (
            #"{"id":"o-1","place":{"city":"","land":1}}"#,
            "properties.place.land: expected a name that the plan has, found number"
        ),
        (#"{"id":"o-1","lines":[{"sku":"a"},{}]}"#, "properties.lines.1.sku: expected a string, found missing"),
        (#"{"id":"o-1","Id":1}"#, "properties.Id: expected a name that the plan has, found number"),
        (#"{"id":"o-1","id":1}"#, "properties.id: expected a string that matches ^o-[0-9]+$, found number"),
    ])
    func `an event that violates the plan is refused with the property and the expectation`(
        _ properties: String, _ detail: String
    ) throws {
        #expect(
            try judge(track(properties), try enforcer(.refuse)).verdict
                == .refuse(Refusal(reason: .schemaViolation, detail: detail)))
    }

    @Test func `an event that the plan does not name is refused as unplanned, with the nearest name`() throws {
        let enforcer = try enforcer(.refuse)
        func refusal(_ event: String) throws -> Refusal? {
            if case .refuse(let refusal) = try judge(event, enforcer).verdict { refusal } else { nil }
        }
        let slip = try refusal(#"{"type":"track","event":"Ordr","userId":"u","messageId":"m"}"#)
        #expect(
            slip
                == Refusal(
                    reason: .unplanned, detail: #"the plan has no track "Ordr"; did you mean "Order"?"#, messageID: "m")
        )
        #expect(try refusal(#"{"type":"screen","name":"Attic","userId":"u"}"#)?.reason == .unplanned)
        #expect(try refusal(#"{"type":"screen","userId":"u"}"#) == nil)
        #expect(try refusal(##"{"type":"track","event":"Q\u0022","userId":"u"}"##) == nil)
        #expect(
            try refusal(#"{"type":"identify","userId":"u"}"#)?.detail
                == "traits.email: expected a string, found missing")
        // The plan has no rules for these kinds.
        for kind in [#""page","name":"X""#, #""group","groupId":"g""#, #""alias","previousId":"p""#] {
            #expect(try refusal(#"{"type":\#(kind),"userId":"u"}"#) == nil)
        }
    }

    @Test(arguments: [
        (
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""}}"#,
            #"{"context":{"violations":LIST},"type":"track","event":"Free","userId":"u","properties":{"n":""}}"#
        ),
        (
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{}}"#,
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{"violations":LIST}}"#
        ),
        (
            #"{"context": { "ip":"::1"},"type":"track","event":"Free","userId":"u","properties":{"n":""}}"#,
            #"{"context": {"violations":LIST, "ip":"::1"},"type":"track","event":"Free","userId":"u","properties":{"n":""}}"#
        ),
        (
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":null}"#,
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{"violations":LIST}}"#
        ),
        (
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{"violations":5,"a":1}}"#,
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{"violations":LIST,"a":1}}"#
        ),
        (
            #"{"context":{"a":1},"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{"b":1}}"#,
            #"{"type":"track","event":"Free","userId":"u","properties":{"n":""},"context":{"violations":LIST,"b":1}}"#
        ),
    ])
    func `a flagged event keeps its fields and gets a list of violations`(_ event: String, _ expected: String) throws {
        let list = #"[{"property":"properties.n","expected":"a number","found":"string"}]"#
        let (verdict, stored) = try judge(event, try enforcer(.flag))
        #expect(verdict == .edit(.schemaViolation))
        #expect(stored == expected.replacing("LIST", with: list))
    }

    @Test(arguments: [
        (#"{"id":"o-1","x":1}"#, #"{"id":"o-1"}"#),
        (#"{ "x":1, "id":"o-1" ,"y":[{}],"count":1.50}"#, #"{"id":"o-1"}"#),
        (
            #"{"id":"o-1","lines":[{"sku":"a","n":1},{"sku":2}],"tags":["a","z","b"]}"#,
            #"{"id":"o-1","lines":[{"sku":"a"},{}],"tags":["a","b"]}"#
        ),
        (#"{"id":"o-1","total": 1.50,"x":0}"#, #"{"id":"o-1","total": 1.50}"#),
        // All duplicates of a wrong name are removed.
        (#"{"total":"1","id":"o-1","total":"2","x":1,"x":2}"#, #"{"id":"o-1"}"#),
    ])
    func `stripping removes exactly the properties that violate the plan`(_ properties: String, _ left: String) throws {
        let (verdict, stored) = try judge(track(properties), try enforcer(.strip))
        #expect(verdict == .edit(.schemaViolation))
        #expect(stored.hasSuffix(#""properties":\#(left)}"#), "\(stored)")
        #expect(stored.contains(#""stripped":true"#))
        // The event matches the plan now, unless a property is missing.
        let again = try judge(stored, try enforcer(.refuse)).verdict
        if !left.contains("{}") { #expect(again == .pass) }
    }

    @Test func `a report never contains the value of a property`() throws {
        let event = track(
            #"{"id":"hunter2","total":"hunter2","kind":"hunter2","x":"hunter2","tags":["hunter2"],"place":"hunter2"}"#)
        #expect(!"\(try judge(event, try enforcer(.refuse)).verdict)".contains("hunter2"))
        #expect(!(try judge(event, try enforcer(.strip)).stored).contains("hunter2"))
    }

    @Test func `the list of violations never makes an event too large or too deep, and its length is limited`() throws {
        let event = track(#"{"n":"1","m":"2"}"#, event: "Free")
        let whole = try judge(event, try enforcer(.flag)).stored
        #expect(try judge(event, try enforcer(.flag, size: whole.utf8.count)).stored == whole)
        #expect(try judge(event, try enforcer(.flag, size: whole.utf8.count - 1)).verdict == .note(.schemaViolation))
        #expect(try judge(event, try enforcer(.flag), room: 10).verdict == .note(.schemaViolation))
        #expect(try judge(event, try enforcer(.flag, depth: 3)).verdict == .note(.schemaViolation))
        let many = "{" + (0..<1000).map { "\"p\($0)\":1" }.joined(separator: ",") + "}"
        #expect(try judge(track(many), try enforcer(.flag, limit: 3)).stored.split(separator: "expected").count == 4)
        let refused = try judge(track(many), try enforcer(.refuse, limit: 3)).verdict
        #expect("\(refused)".contains("; and 998 more"))
        #expect(try judge(track(many), try enforcer(.strip, limit: 3)).stored.hasSuffix(#""properties":{}}"#))
    }

    /// No input traps, and a stripped event matches the plan except for missing properties.
    @Test func `random properties can be judged and stripped`() throws {
        var random = SystemRandomNumberGenerator()
        let names = [
            "id", "total", "count", "kind", "gift", "at", "any", "tags", "place", "lines", "city", "sku", "zip", "x",
            #"\u0069d"#, "",
        ]
        func value(_ depth: Int) -> String {
            switch Int.random(in: 0..<(depth > 2 ? 4 : 9), using: &random) {
            case 0: "null"
            case 1: ["true", "false"].randomElement(using: &random) ?? ""
            case 2: ["0", "-1", "1.5", "1e400", "18446744073709551616", "1E-400"].randomElement(using: &random) ?? ""
            case 3:
                [#""o-1""#, #""\ud83d\ude00""#, #""""#, #""2026-01-31""#, #""again \"2\"""#, #""a""#].randomElement(
                    using: &random) ?? ""
            case 4, 5, 6, 7:
                "{"
                    + (0..<Int.random(in: 0..<6, using: &random)).map { _ in
                        " \"\(names.randomElement(using: &random) ?? "")\" : \(value(depth + 1))"
                    }.joined(separator: " ,") + "}"
            default:
                "[" + (0..<Int.random(in: 0..<5, using: &random)).map { _ in value(depth + 1) }.joined(separator: ", ")
                    + "]"
            }
        }
        let (strip, refuse) = (try enforcer(.strip, limit: 1000), try enforcer(.refuse, limit: 1000))
        for _ in 0..<2_000 {
            let members = (0..<5).map { _ in "\"\(names.randomElement(using: &random) ?? "")\":\(value(0))" }
            let event = track("{" + members.joined(separator: ",") + "}")
            let (verdict, stored) = try judge(event, strip)
            switch verdict {
            case .pass: continue
            case .edit(.schemaViolation): break
            default: Issue.record("\(verdict): \(event)")
            }
            guard case .refuse(let refusal) = try judge(stored, refuse).verdict else { continue }
            let rest = refusal.detail.split(separator: "; ")
            #expect(
                rest.allSatisfy { $0.hasSuffix("found missing") || $0.hasSuffix("found null") },
                "\(event) \(refusal.detail)")
        }
    }

    @Test func `allow counts the violations and does not change the event`() throws {
        #expect(try judge(track("{}"), try enforcer(.allow)).verdict == .note(.schemaViolation))
        #expect(try judge(track("{}", event: "X"), try enforcer(.allow)).verdict == .note(.unplanned))
    }
}
