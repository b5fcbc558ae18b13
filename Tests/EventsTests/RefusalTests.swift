import Events
import Testing

@Suite struct RefusalTests {
    @Test(
        arguments: [
            ("[1]", .notAnObject), ("12", .notAnObject), (#""x""#, .notAnObject), ("null", .notAnObject),
            ("{}", .unknownType), (#"{"type":null}"#, .unknownType), (#"{"type":"Track"}"#, .unknownType),
            (#"{"type":3}"#, .unknownType), (#"{"type":"trackk","event":"e","userId":"u"}"#, .unknownType),
            (#"{"type":"track","userId":"u"}"#, .eventNotDefined),
            (#"{"type":"track","userId":"u","event":""}"#, .eventNotDefined),
            (#"{"type":"track","userId":"u","event":null}"#, .eventNotDefined),
            (#"{"type":"track","userId":"u","event":["e"]}"#, .eventNotString),
            (#"{"type":"group","userId":"u"}"#, .groupIDNotDefined),
            (#"{"type":"group","userId":"u","groupId":""}"#, .groupIDNotDefined),
            (#"{"type":"group","userId":"u","groupId":5}"#, .idNotString),
            (#"{"type":"alias","userId":"u"}"#, .noUserOrAnonymousID),
            (#"{"type":"alias","anonymousId":"a","previousId":"p"}"#, .noUserOrAnonymousID),
            (#"{"type":"track","event":"e","userId":1}"#, .idNotString),
            (#"{"type":"track","event":"e","userId":"u","anonymousId":{}}"#, .idNotString),
            (#"{"type":"track","event":"e","userId":"u","messageId":1}"#, .idNotString),
            (#"{"type":"track","event":"e","userId":"u","previousId":false}"#, .idNotString),
            (#"{"type":"track","event":"e"}"#, .noUserOrAnonymousID),
            (#"{"type":"track","event":"e","userId":"","anonymousId":null}"#, .noUserOrAnonymousID),
            (#"{"type":"track","event":"e","userId":"u","properties":[]}"#, .propertiesNotObject),
            (#"{"type":"page","userId":"u","properties":"x"}"#, .propertiesNotObject),
            (#"{"type":"identify","userId":"u","traits":1}"#, .traitsNotObject),
            (#"{"type":"group","userId":"u","groupId":"g","traits":[]}"#, .traitsNotObject),
            (#"{"type":"track","event":"e","userId":"u","context":"c"}"#, .contextNotObject),
            (#"{"type":"screen","userId":"u","name":1}"#, .nameNotString),
            (#"{"type":"track","event":"e","userId":"u","timestamp":1700000000}"#, .invalidTimestamp),
            (#"{"type":"track","event":"e","userId":"u","timestamp":"yesterday"}"#, .invalidTimestamp),
            (#"{"type":"track","event":"e","userId":"u","timestamp":""}"#, .invalidTimestamp),
            (#"{"type":"track","event":"e","userId":"u","sentAt":"2024-02-30T00:00:00Z"}"#, .invalidTimestamp),
        ] as [(String, RefusalReason)]) func `each rule has its reason`(_ line: String, _ reason: RefusalReason)
    {
        #expect(Scan.reason(line) == reason)
    }

    @Test(arguments: [
        #"{"type":"track","event":"e","userId":"u","traits":"of no concern","name":1,"groupId":null}"#,
        #"{"type":"identify","userId":"u","properties":"of no concern","event":1}"#,
        #"{"type":"track","event":"e","userId":"","anonymousId":"a","properties":null,"context":null}"#,
        #"{"type":"track","event":"e","userId":"u","timestamp":null,"sentAt":"2024-01-31"}"#,
        #"{"type":"track","event":"e","userId":"u","timestamp":"2024\u002d01-31T10:00:00+02:00"}"#,
        #"{"type":"track","event":"e","userId":"u","timestamp":"0001-01-01T00:00:00Z"}"#,
    ]) func `an event that breaks no rule is accepted`(_ line: String) {
        #expect(Scan.reason(line) == nil)
    }

    @Test func `a message ID has at most 100 characters`() {
        func event(_ id: String) -> String { #"{"type":"track","event":"e","userId":"u","messageId":"\#(id)"}"# }
        func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
        for character in ["a", "é", "😀", #"\n"#, #"\u00e9"#, #"\ud83d\ude00"#] {
            #expect(Scan.reason(event(repeated(character, 100))) == nil)
            #expect(Scan.reason(event(repeated(character, 101))) == .schemaViolation)
        }
        #expect(Scan.detail(event(repeated("a", 101)))?.hasPrefix("messageId: expected at most 100 characters") == true)
    }

    @Test func `the most useful reason is given first`() {
        // The first event breaks every rule. Each step repairs the one that was reported.
        #expect(Scan.reason(#"{"properties":1,"timestamp":1}"#) == .unknownType)
        #expect(Scan.reason(#"{"type":"track","properties":1,"timestamp":1}"#) == .eventNotDefined)
        #expect(Scan.reason(#"{"type":"track","event":"e","properties":1,"timestamp":1}"#) == .noUserOrAnonymousID)
        let named = #"{"type":"track","event":"e","userId":"u","properties":1,"timestamp":1}"#
        #expect(Scan.reason(named) == .propertiesNotObject)
        #expect(Scan.reason(#"{"type":"track","event":"e","userId":"u","timestamp":1}"#) == .invalidTimestamp)
    }

    @Test(arguments: [
        ("{\"a\":1,}", "not valid JSON at byte 8: unexpected '}'"),
        ("{\"a\":\u{1}}", "not valid JSON at byte 6: unexpected byte 0x01"),
        ("{\"a\":", "not valid JSON: the line ends in the middle of a value; an event is one whole line"),
        ("\u{FEFF}{}", "the line begins with a byte order mark; send UTF-8 without one"),
        (#"{"a":"\x"}"#, #"invalid escape at byte 7; write a backslash as \\"#),
        (
            #"{"a":"\ud83d"}"#,
            "half of a surrogate pair at byte 7: a character was cut in two, send it whole"
        ),
        (#"{"type":"tarck"}"#, #"type: expected track, identify, page, screen, group or alias; found "tarck""#),
        ("{}", "type: expected track, identify, page, screen, group or alias; it is missing"),
        (#"{"type":"track","event":"e","userId":42}"#, "userId: expected a string, found 42"),
    ]) func `the detail names the place and the problem`(_ line: String, _ detail: String) {
        #expect(Scan.detail(line) == detail)
    }

    @Test func `the detail names the field and quotes only a little of its value`() throws {
        let long = String(repeating: "é", count: 3000)
        let detail = try #require(
            Scan.detail(#"{"type":"track","event":"e","userId":"u","timestamp":"\#(long)"}"#))
        #expect(detail.hasPrefix("timestamp: expected a date and time"))
        #expect(detail.utf8.count < 200)
        let list = #"{"type":"track","event":"e","userId":["\#(long)"]}"#
        #expect(Scan.detail(list) == "userId: expected a string, found a list")
        let object = #"{"type":"track","event":"e","userId":{}}"#
        #expect(Scan.detail(object) == "userId: expected a string, found an object")
    }

    @Test func `a refusal carries the message ID if it could be read`() {
        func id(_ line: String) -> String? { Scan(line + "\n").refused.first?.refusal.messageID }
        #expect(id(#"{"messageId":"m\u00e9","type":"nope"}"#) == "mé")
        #expect(id(#"{"messageId":"m","type":"track","event":"e","userId":"u","sentAt":"x"}"#) == "m")
        #expect(id(#"{"messageId":"m","type":}"#) == "m")
        #expect(id(#"{"type":}"#) == nil)
        #expect(id(#"{"messageId":7}"#) == nil)
        #expect(id(#"{"messageId":"\q"}"#) == nil)
    }
}
