import Events
import Testing

/// Empty ids count as absent. Identifies whose traits are in the context are counted.
@Suite struct EmptyIDTests {
    @Test func `an empty userId beside an anonymousId is absent from the index, and the event keeps its bytes`() throws
    {
        let line = #"{"type":"track","event":"e","userId":"","anonymousId":"a"}"#
        let scan = Scan(line + "\n")
        let event = try #require(scan.accepted.first)
        #expect(!event.index.userID.isPresent)
        #expect(scan.text(event.index.anonymousID, of: event) == "a")
        #expect(event.index.flags.isEmpty)
        #expect(scan.text(event) == line)
        #expect(scan.result.emptyIDs == 1)
    }

    @Test func `an empty anonymousId beside a userId is absent from the index`() throws {
        let scan = Scan(#"{"type":"page","anonymousId":"","userId":"\u0075"}"# + "\n")
        let event = try #require(scan.accepted.first)
        #expect(!event.index.anonymousID.isPresent)
        #expect(scan.text(event.index.userID, of: event) == #"\u0075"#)
        #expect(event.index.flags == .userIDEscaped)
        #expect(scan.result.emptyIDs == 1)
    }

    @Test(arguments: [
        (#"{"type":"page","userId":""}"#, "userId is empty; send a userId or an anonymousId that is not empty"),
        (
            #"{"type":"page","userId":"","anonymousId":""}"#,
            "userId is empty; send a userId or an anonymousId that is not empty"
        ),
        (
            #"{"type":"page","userId":null,"anonymousId":""}"#,
            "anonymousId is empty; send a userId or an anonymousId that is not empty"
        ),
        (#"{"type":"page"}"#, "expected userId or anonymousId, a string that is not empty"),
        (#"{"type":"page","userId":null}"#, "expected userId or anonymousId, a string that is not empty"),
        (
            #"{"type":"alias","userId":"u","anonymousId":"a","previousId":""}"#,
            "previousId: an alias needs userId and previousId, strings that are not empty"
        ),
        (
            #"{"type":"alias","userId":"","anonymousId":"a","previousId":"p"}"#,
            "userId: an alias needs userId and previousId, strings that are not empty"
        ),
    ]) func `without another id, an empty one is refused by name`(_ line: String, _ detail: String) {
        #expect(Scan.reason(line) == .noUserOrAnonymousID)
        #expect(Scan.detail(line) == detail)
        #expect(Scan(line + "\n").result.emptyIDs == 0)
    }

    @Test(arguments: [
        (#"{"type":"page","userId":"u","groupId":""}"#, 1),
        (#"{"type":"page","userId":"u","previousId":""}"#, 1),
        (#"{"type":"page","userId":"u","previousId":"","groupId":"","anonymousId":""}"#, 1),
        (#"{"type":"alias","userId":"u","previousId":"p","anonymousId":""}"#, 1),
        (#"{"type":"page","userId":"u","properties":{"userId":""}}"#, 0),
        (#"{"type":"page","userId":"u","messageId":""}"#, 0),
        (#"{"type":"page","userId":" "}"#, 0),
        (#"{"type":"page","userId":"\u0000"}"#, 0),
        (#"{"type":"page","userId":"","userId":"u"}"#, 0),
        (#"{"type":"page","anonymousId":"a","userId":"u","userId":""}"#, 1),
    ]) func `an event with any number of empty ids counts once`(_ line: String, _ count: Int) {
        let scan = Scan(line + "\n")
        #expect(scan.accepted.count == 1)
        #expect(scan.result.emptyIDs == count)
    }

    @Test(arguments: [
        (#"{"type":"identify","userId":"u","context":{"traits":{"a":1}}}"#, 1),
        (#"{"type":"identify","userId":"u","traits":null,"context":{"a":[{"traits":1}],"tr\u0061its":{}}}"#, 1),
        (#"{"type":"identify","userId":"u","context":{"traits":1,"traits":{}}}"#, 1),
        (#"{"type":"identify","userId":"u","context":{"traits":{},"traits":1}}"#, 0),
        (#"{"type":"identify","userId":"u","traits":{},"context":{"traits":{"a":1}}}"#, 0),
        (#"{"type":"identify","userId":"u","context":{"traits":"x"}}"#, 0),
        (#"{"type":"identify","userId":"u","context":{"traits":[]}}"#, 0),
        (#"{"type":"identify","userId":"u","context":{"a":"traits","b":{"traits":{}},"c":[{"traits":{}}]}}"#, 0),
        (#"{"type":"identify","userId":"u","context":{}}"#, 0),
        (#"{"type":"identify","userId":"u","context":null}"#, 0),
        (#"{"type":"identify","userId":"u"}"#, 0),
        (#"{"type":"group","userId":"u","groupId":"g","context":{"traits":{}}}"#, 0),
        (#"{"type":"track","event":"e","userId":"u","context":{"traits":{}}}"#, 0),
    ]) func `identifies with traits only in the context are counted`(_ line: String, _ count: Int) {
        let scan = Scan(line + "\n")
        #expect(scan.accepted.count == 1)
        #expect(scan.result.contextTraits == count)
    }
}
