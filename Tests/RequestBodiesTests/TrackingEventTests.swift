import Events
import RequestBodies
import Testing

@Suite struct TrackingEventTests {
    @Test(arguments: [
        (#"{"event":"A","userId":"u"}"#, #"{"event":"A","userId":"u","type":"track"}"#),
        (#"{"type":"track","userId":"u"}"#, #"{"type":"track","userId":"u"}"#),
        (#"{"type":"tr\u0061ck"}"#, #"{"type":"tr\u0061ck"}"#),
        (#"{"ty\u0070e":"track"}"#, #"{"ty\u0070e":"track"}"#),
        (#"{"type":"page","type":"track"}"#, #"{"type":"page","type":"track"}"#),
        (#"{"type": null, "a": 1}"#, #"{"type": "track", "a": 1}"#),
        (#"{}"#, #"{"type":"track"}"#),
        ("{ \t }", "{ \t \"type\":\"track\"}"),
        ("  {\"a\":1}\r\n", #"{"a":1,"type":"track"}"#),
        (#"{"properties":{"type":"page"}}"#, #"{"properties":{"type":"page"},"type":"track"}"#),
        (#"{"a":1.0e+00, "b" : [ ] }"#, #"{"a":1.0e+00, "b" : [ ] ,"type":"track"}"#),
    ])
    func `the type of the endpoint is added if it is missing`(body: String, line: String) throws {
        let reading = try TrackingReading(body, .single(.track))
        #expect(reading.lines == [line])
        #expect(reading.items == [0])
        #expect(reading.refused == [])
    }

    @Test(arguments: [
        (#"{"type":"page","messageId":"m\u0031"}"#, "\"page\""), (#"{"type":"track","type":""}"#, "\"\""),
        (#"{"type":7}"#, "not a string"), (#"{"type":{}}"#, "an object"), (#"{"type":[]}"#, "a list"),
        (#"{"type":true}"#, "not a string"),
    ])
    func `an event of another type is refused, and both types are named`(body: String, found: String) throws {
        let reading = try TrackingReading(body, .single(.track))
        #expect(reading.lines == [])
        #expect(reading.refused == [.unknownType])
        let detail = try #require(reading.details.first)
        #expect(detail.contains("\"track\"") && detail.contains(found), "\(detail)")
        #expect(reading.messageIDs == [body.contains("messageId") ? "m1" : nil])
    }

    @Test(arguments: [#"[{"event":"A"}]"#, "1", #""text""#, "null", "true", " [] "])
    func `a body that is not an object is a refused event`(body: String) throws {
        let reading = try TrackingReading(body, .single(.track))
        #expect(reading.lines == [])
        #expect(reading.refused == [.notAnObject])
    }

    @Test(arguments: [
        (#"{"writeKey":"k"}"#, #"{"type":"track"}"#, "k"),
        (#"{"writeKey":"k","a":1}"#, #"{"a":1,"type":"track"}"#, "k"),
        (#"{"a":1, "writeKey" : "k" ,"b":2}"#, #"{"a":1 ,"b":2,"type":"track"}"#, "k"),
        (#"{"a":1,"writeKey":"k"}"#, #"{"a":1,"type":"track"}"#, "k"),
        (#"{"a":1,"writeKey":"k","writeKey":"l","b":2}"#, #"{"a":1,"b":2,"type":"track"}"#, "l"),
        (#"{"writeKey":"k","writeKey":"l"}"#, #"{"type":"track"}"#, "l"),
        (#"{"writeKey":"k","a":1,"writeKey":"l"}"#, #"{"a":1,"type":"track"}"#, "l"),
        (#"{"write\u004bey":"k\n","type":"track"}"#, #"{"type":"track"}"#, "k\n"),
        (#"{"writeKey":{"a":[1,{}]},"type":"track"}"#, #"{"type":"track"}"#, nil),
        (#"{"writeKey":null}"#, #"{"type":"track"}"#, nil),
        (#"{"context":{"writeKey":"n"}}"#, #"{"context":{"writeKey":"n"},"type":"track"}"#, nil),
    ])
    func `a write key is returned and not stored`(body: String, line: String, key: String?) throws {
        let reading = try TrackingReading(body, .single(.track))
        #expect(reading.lines == [line])
        #expect(reading.writeKey == key)
    }

    @Test func `line breaks between tokens become spaces`() throws {
        let reading = try TrackingReading("{\r\n\t\"event\" :\n\"A\\n\"\n,\r\"n\": 1}\n", .single(.track))
        #expect(reading.lines == ["{  \t\"event\" : \"A\\n\" , \"n\": 1,\"type\":\"track\"}"])
    }

    @Test(arguments: [
        ("", "is empty"), (" \n", "is empty"), ("{\"a\":\"b\nc\"}", "control character at byte 8"),
        ("\n{\"a\":\"b\u{1}\n\"}", "control character at byte 9"), ("{\"a\":1}\n{\"b\":2}", "byte 9"),
        ("{\"a\":1} x", "byte 9"), ("{\n\"a\":1", "in the middle"), ("{\"writeKey\":[1}}", "byte 15"),
        ("{\"a\":\"b", "the string at byte 6"), ("{\"writeKey\":tru}", "byte 13"),
        ("{\"writeKey\":\"k\",\"a\":\"\\x\"}", "byte 22"), ("{\"type\":nul}", "byte 9"), ("{\"type\":7,}", "byte 11"),
        ("[1,]", "byte 4"), ("\u{FEFF}{}", "byte order mark"), ("{\"type\":\"page\",\"a\":\"\\ud83dx\\q\"}", "byte 28"),
    ])
    func `a fault that would be hidden is a problem of the request, with its place`(body: String, place: String) throws
    {
        let problem = try #require(TrackingReading.problem(body, .single(.track)))
        #expect(problem.reason == .invalidJSON)
        #expect(problem.detail.contains(place), "\(problem.detail)")
    }

    @Test func `bytes that are not UTF-8 are a problem with their place`() throws {
        let body = Array("{\"writeKey\":\"".utf8) + [0xC3, 0x28] + Array("\"}".utf8)
        let problem = try #require(TrackingReading.problem(body, .single(.track)))
        #expect(problem.reason == .invalidUTF8)
        #expect(problem.detail.contains("byte 14"), "\(problem.detail)")
    }

    @Test func `the size limit of an event holds for the event as it is stored`() throws {
        var limits = TrackingReading.limits
        limits.maximumEventSize = 40
        let body = #"{"a":"0123456789012345","type":"track"}"#
        #expect(body.utf8.count == 39)
        #expect(try TrackingReading(body + " ", .single(.track), limits: limits).lines == [body])
        let largest = body.replacing("0123456789012345", with: "01234567890123456")
        #expect(try TrackingReading(largest, .single(.track), limits: limits).lines == [largest])
        let larger = body.replacing("0123456789012345", with: "012345678901234567")
        #expect(try TrackingReading(larger, .single(.track), limits: limits).refused == [.tooLarge])
        // The added type counts.
        let without = #"{"a":"01234567890123456789"}"#
        #expect(try TrackingReading(without, .single(.track), limits: limits).refused == [.tooLarge])
    }

    @Test func `a body above the limit is refused by the name of the limit`() throws {
        var limits = TrackingReading.limits
        limits.maximumBody = 10
        #expect(TrackingReading.problem("{\"a\":1   }", .single(.track), limits: limits) == nil)
        let problem = try #require(TrackingReading.problem("{\"a\":1    }", .single(.track), limits: limits))
        #expect(problem.reason == .tooLarge)
        #expect(problem.detail.contains("max_batch_size"))
    }

    @Test func `the fault of a line is explained with its place in the body`() throws {
        let reader = TrackingRequestReader(limits: TrackingReading.limits)
        let body = Array(#"{"batch":[{"a":1},{"a":01}]}"#.utf8)
        #expect(reader.problem(in: body.span)?.detail.contains("byte 24") == true)
        let half = Array(#"{"batch":[{"a":"\ud83d"}]}"#.utf8)
        #expect(reader.problem(in: half.span) == nil)
    }
}
