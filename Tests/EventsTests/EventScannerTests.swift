import Events
import Testing

@Suite struct EventScannerTests {
    static let plain = #"{"type":"track","event":"Signed Up","userId":"u1"}"#

    @Test(arguments: [
        (#"{"type":"track","event":"e","userId":"u"}"#, EventKind.track),
        (#"{"type":"identify","anonymousId":"a","traits":{"plan":"pro"}}"#, .identify),
        (#"{"type":"page","userId":"u","name":"Home","properties":{}}"#, .page),
        (#"{"type":"screen","userId":"u","name":null,"properties":null}"#, .screen),
        (#"{"type":"group","userId":"u","groupId":"g","traits":{}}"#, .group),
        (#"{"type":"alias","userId":"u","previousId":"p"}"#, .alias),
    ]) func `the scanner accepts every kind of event`(_ text: String, _ kind: EventKind) {
        let scan = Scan(text + "\n")
        #expect(scan.refused.isEmpty)
        #expect(scan.accepted.map(\.index.kind) == [kind])
    }

    @Test func `the index holds the place of each field`() throws {
        let scan = Scan(
            #"  {"userId":"u1","messageId":"m1","context":{"userId":"no"},"event":"Signed Up","type":"track","#
                + #""anonymousId":"a1","integrations":{"All":true}} "# + "\r\n")
        let event = try #require(scan.accepted.first)
        #expect(event.offset == 2)
        #expect(scan.text(event).hasSuffix("}}"))
        #expect(scan.text(event.index.event, of: event) == "Signed Up")
        #expect(scan.text(event.index.messageID, of: event) == "m1")
        #expect(scan.text(event.index.userID, of: event) == "u1")
        #expect(scan.text(event.index.anonymousID, of: event) == "a1")
        #expect(event.index.flags == .hasIntegrations)
    }

    @Test func `an absent or null field has no slice`() throws {
        let event = try #require(
            Scan(#"{"type":"identify","userId":"u","messageId":null,"event":"not a track"}"# + "\n").accepted.first)
        #expect(!event.index.messageID.isPresent)
        #expect(!event.index.anonymousID.isPresent)
        #expect(!event.index.event.isPresent)
        #expect(event.index.flags == .hasOtherValues, "the index has no slice for the key event")
    }

    @Test func `escapes in the indexed fields are flagged`() throws {
        let scan = Scan(
            #"{"type":"track","event":"a\"b","userId":"\u00e9","anonymousId":"plain","messageId":"\\"}"# + "\n")
        let event = try #require(scan.accepted.first)
        #expect(event.index.flags == [.eventEscaped, .userIDEscaped, .messageIDEscaped])
        #expect(scan.text(event.index.event, of: event) == #"a\"b"#)
    }

    @Test func `escapes in keys and kinds are decoded`() {
        let scan = Scan(#"{"\u0074ype":"tra\u0063k","ev\u0065nt":"e","user\u0049d":"u"}"# + "\n")
        #expect(scan.accepted.map(\.index.kind) == [.track])
    }

    @Test func `the last duplicate of a key counts`() throws {
        let scan = Scan(#"{"type":"track","event":7,"userId":"u","event":"last","type":"track"}"# + "\n")
        let event = try #require(scan.accepted.first)
        #expect(scan.text(event.index.event, of: event) == "last")
        #expect(Scan.reason(#"{"type":"track","event":"e","userId":"u","event":7}"#) == .eventNotString)
        #expect(Scan.reason(#"{"type":"track","event":"e","userId":"u","user\u0049d":null}"#) == .noUserOrAnonymousID)
    }

    @Test func `the scanner counts all lines and skips empty ones`() {
        let scan = Scan("\n\(Self.plain)\r\n \t\r\nnope\n\n\(Self.plain)\n\(Self.plain)")
        #expect(scan.accepted.map(\.line) == [1, 5])
        #expect(scan.refused.map(\.line) == [3])
        #expect(scan.result.lines == 6)
        #expect(scan.result.consumed == scan.bytes.count - Self.plain.utf8.count)
    }

    @Test func `a line without a line feed is not consumed`() {
        let scan = Scan(Self.plain)
        #expect(scan.result == ScanResult(consumed: 0, lines: 0))
        #expect(scan.accepted.isEmpty && scan.refused.isEmpty)
        #expect(Scan("").result == ScanResult(consumed: 0, lines: 0))
    }

    @Test func `one scan handles many lines`() {
        let text = (0..<1000).map { #"{"type":"track","event":"e\#($0)","userId":"u"}"# + "\n" }.joined()
        let scan = Scan(text + "x\n")
        #expect(scan.accepted.count == 1000)
        #expect(scan.accepted.map(\.line) == Array(0..<1000))
        #expect(scan.accepted.last.map { scan.text($0.index.event, of: $0) } == "e999")
        #expect(scan.refused.map(\.line) == [1000])
        #expect(scan.result == ScanResult(consumed: scan.bytes.count, lines: 1001))
    }

    @Test func `an event of exactly the maximum size is accepted, a longer one is refused`() {
        let size = Self.plain.utf8.count
        #expect(Scan(Self.plain + "  \n", maximumEventSize: size).accepted.count == 1)
        let scan = Scan(Self.plain + "\n", maximumEventSize: size - 1)
        #expect(scan.refused.map(\.refusal) == [.tooLarge(maximum: size - 1)])
    }

    @Test(arguments: ["[", #"{"k":"#])
    func `an event of the maximum depth is accepted, a deeper one is refused`(_ open: String) {
        func event(depth: Int) -> String {
            let inside = depth - 1
            let nested =
                String(repeating: open, count: inside) + "1"
                + String(repeating: open == "[" ? "]" : "}", count: inside)
            return #"{"type":"track","event":"e","userId":"u","messageId":"m","deep":\#(nested)}"# + "\n"
        }
        #expect(Scan(event(depth: 64)).accepted.count == 1)
        let scan = Scan(event(depth: 65))
        #expect(scan.refused.map(\.refusal.reason) == [.tooDeep])
        #expect(scan.refused.map(\.refusal.messageID) == ["m"])
        #expect(Scan(event(depth: 20_000)).refused.map(\.refusal.reason) == [.tooLarge])
        #expect(Scan(event(depth: 20_000), maximumEventSize: 1 << 20).refused.map(\.refusal.reason) == [.tooDeep])
        #expect(Scan(event(depth: 2), maximumDepth: 1).refused.map(\.refusal.reason) == [.tooDeep])
    }

    @Test(arguments: [
        "0", "-0", "1e400", "-1E+400", "123456789012345678901234567890", "0.1e-7", "1.5", "true", "null", "[]", "{}",
        "[[],{},\"\"]", #""\ud83d\ude00\u0000\/""#, "\"\u{7f}é\u{2028}\"",
    ]) func `valid JSON values of any size are accepted`(_ value: String) {
        #expect(Scan.reason(#"{"type":"track","event":"e","userId":"u","properties":{"v": \#(value) }}"#) == nil)
    }

    @Test(arguments: [
        "01", "+1", "1.", ".5", "1e", "1e+", "-", "- 1", "0x10", "NaN", "Infinity", "tru", "truee", "nulL", "1 2",
        "'a'",
        #""a" "b""#, #""a"b"#, #"1"a""#, "[1,]", "[,1]", "[1 2]", "[1}", "{1:2}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
        #"{"a":1 "b":2}"#, #"{"a"::1}"#, #""\q""#, #""\u12g4""#, #""\u12""#, "\"\t\"", "\"a\0b\"", "\0", "\u{c}1",
        "\\", #"\"a\""#, "]", "", "// no", "\u{a0}1", #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\ud800x""#,
    ]) func `invalid JSON is refused`(_ value: String) {
        let line = #"{"type":"track","event":"e","userId":"u","properties":{"v":\#(value)}}"#
        #expect(Scan.reason(line) == .invalidJSON)
        // An invalid line does not affect its neighbors.
        #expect(Scan("\(Self.plain)\n\(line)\n\(Self.plain)\n").accepted.map(\.line) == [0, 2])
    }

    @Test func `every truncation of an event is refused`() {
        let event = Array(#"{"type":"track","event":"é\n","userId":"u","properties":{"a":[1,-2.5e3,true,null]}}"#.utf8)
        for length in 1..<event.count {
            let scan = Scan(Array(event[..<length]) + [UInt8(ascii: "\n")])
            #expect(scan.accepted.isEmpty && scan.refused.count == 1, "cut after \(length) bytes")
        }
    }

    @Test(
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82],
        ] as [[UInt8]]) func `a line that is not UTF-8 is refused`(_ bytes: [UInt8])
    {
        let scan = Scan(Array(#"{"type":"track","event":"e","userId":""#.utf8) + bytes + Array("\"}\n".utf8))
        #expect(scan.refused.map(\.refusal.reason) == [.invalidUTF8])
    }
}
