import Events
import RequestBodies
import Testing

@Suite struct TrackingBatchTests {
    @Test func `each item becomes a line, byte for byte`() throws {
        let first = #"{"a" : 1.50, "b":"\u00e9é\\\"}]{[,:","c":[[],{}, null]}"#
        let reading = try TrackingReading("{\"batch\":[ \(first) ,{} , { \"x\":true}\t]}")
        #expect(reading.lines == [first, "{}", "{ \"x\":true}"])
        #expect(reading.items == [0, 1, 2])
        #expect(reading.writeKey == nil)
    }

    @Test func `a write key of the batch is returned, and those of items are removed`() throws {
        let reading = try TrackingReading(
            #"{"writeKey":"k","batch":[{"a":1,"writeKey":"l"},{"writeKey":"m"},{"b":2}],"sentAt":"T"}"#)
        #expect(reading.writeKey == "k")
        #expect(reading.lines == [#"{"a":1,"sentAt":"T"}"#, #"{"sentAt":"T"}"#, #"{"b":2,"sentAt":"T"}"#])
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1,"sentAt":"T"}"#), ("{}", #"{"sentAt":"T"}"#), ("{ }", #"{ "sentAt":"T"}"#),
        (#"{"sentAt":"own"}"#, #"{"sentAt":"own"}"#), (#"{"sentAt":null,"a":1}"#, #"{"sentAt":"T","a":1}"#),
        (#"{"sent\u0041t":"own"}"#, #"{"sent\u0041t":"own"}"#), (#"{"sentAt":7}"#, #"{"sentAt":7}"#),
        (#"{"context":{"sentAt":"in"}}"#, #"{"context":{"sentAt":"in"},"sentAt":"T"}"#),
        (#"{"sentAt":"own","sentAt":null}"#, #"{"sentAt":"own","sentAt":"T"}"#),
        (
            #"{"receivedAt":"R","channel":"c","_metadata":{}}"#,
            #"{"receivedAt":"R","channel":"c","_metadata":{},"sentAt":"T"}"#
        ),
    ])
    func `sentAt is given to items that have none`(item: String, line: String) throws {
        for body in [#"{"batch":[\#(item)],"sentAt":"T"}"#, #"{"sentAt":"T","batch":[\#(item)]}"#] {
            #expect(try TrackingReading(body).lines == [line])
        }
    }

    @Test(arguments: [
        // The batch's context, the item, and the line.
        (#"{"ip":"1","a":{"x":1}}"#, #"{"e":1}"#, #"{"e":1,"context":{"ip":"1","a":{"x":1}}}"#),
        (#"{"ip":"1"}"#, #"{"context":{}}"#, #"{"context":{"ip":"1"}}"#),
        (#"{"ip":"1"}"#, #"{"context":{ }}"#, #"{"context":{ "ip":"1"}}"#),
        (#"{"ip":"1"}"#, #"{"context":null,"z":0}"#, #"{"context":{"ip":"1"},"z":0}"#),
        (#"{"ip":"1","os":2}"#, #"{"context":{"ip":"own"}}"#, #"{"context":{"ip":"own","os":2}}"#),
        (#"{"ip":"1"}"#, #"{"context":{"i\u0070":null}}"#, #"{"context":{"i\u0070":null}}"#),
        (#"{"i\u0070":"1"}"#, #"{"context":{"ip":"own"}}"#, #"{"context":{"ip":"own"}}"#),
        // Merged at the top level only.
        (#"{"os":{"n":1,"v":2}}"#, #"{"context":{"os":{"n":3}}}"#, #"{"context":{"os":{"n":3}}}"#),
        // The last duplicate counts, of the batch and of the item.
        (#"{"ip":"1","z":0,"ip":"2"}"#, #"{}"#, #"{"context":{"ip":"1","z":0,"ip":"2"}}"#),
        (#"{"ip":"1","z":0,"ip":"2"}"#, #"{"context":{}}"#, #"{"context":{"z":0,"ip":"2"}}"#),
        (#"{"z":0}"#, #"{"context":{"a":1},"context":{"b":2}}"#, #"{"context":{"a":1},"context":{"b":2,"z":0}}"#),
        (#"{"z":0}"#, #"{"context":7}"#, #"{"context":7}"#),
        (#"{}"#, #"{"context":{"a":1}}"#, #"{"context":{"a":1}}"#),
        (#"null"#, #"{"a":1}"#, #"{"a":1}"#),
    ])
    func `context is merged, and the item's own key wins`(shared: String, item: String, line: String) throws {
        for body in [#"{"context":\#(shared),"batch":[\#(item)]}"#, #"{"batch":[\#(item)],"context":\#(shared)}"#] {
            #expect(try TrackingReading(body).lines == [line])
        }
    }

    @Test func `integrations are merged like context`() throws {
        let reading = try TrackingReading(
            #"{"integrations":{"All":false,"b":true},"batch":[{"integrations":{"b":false}},{},{"integrations":true}]}"#)
        #expect(
            reading.lines == [
                #"{"integrations":{"b":false,"All":false}}"#, #"{"integrations":{"All":false,"b":true}}"#,
                #"{"integrations":true}"#,
            ])
    }

    @Test func `all fields of a batch are added at once`() throws {
        let reading = try TrackingReading(
            """
            {"sentAt":"T","integrations":{"x":1},"context":{"c":2},"batch":[
            {"sentAt":null,"context":{"k":[]},"writeKey":"w","integrations":{}}, {"a":1}]}
            """)
        #expect(
            reading.lines == [
                #"{"sentAt":"T","context":{"k":[],"c":2},"integrations":{"x":1}}"#,
                #"{"a":1,"context":{"c":2},"integrations":{"x":1},"sentAt":"T"}"#,
            ])
    }

    @Test func `the last of duplicate envelope keys counts, and keys may have escapes`() throws {
        let reading = try TrackingReading(
            #"{"batch":[{"a":1},{}],"sentAt":"1","b\u0061tch":[{"b":2}],"sent\u0041t":"2","write\u004bey":"k"}"#)
        #expect(reading.lines == [#"{"b":2,"sentAt":"2"}"#])
        #expect(reading.items == [0])
        #expect(reading.writeKey == "k")
        let none = try #require(TrackingReading.problem(#"{"batch":[{"a":1}],"batch":[]}"#))
        #expect(none.reason == .emptyBatch)
    }

    @Test func `an item that is no event is refused, and the others are not`() throws {
        let reading = try TrackingReading(#"{"batch":[1,{"a":1},"x",[{}],null,{"b":2},-1e5,true]}"#)
        #expect(reading.lines == [#"{"a":1}"#, #"{"b":2}"#])
        #expect(reading.items == [1, 5])
        #expect(reading.refused == Array(repeating: .notAnObject, count: 6))
    }

    @Test(arguments: ["{}", #"{"batch":null}"#, #"{"batch":{}}"#, #"{"batch":"[]"}"#, #"{"batch":1}"#])
    func `a body without an array of events is refused with what is expected`(body: String) throws {
        let problem = try #require(TrackingReading.problem(body))
        #expect(problem.reason == .schemaViolation)
        #expect(problem.detail.contains(#"{"batch": [{…}, …]}"#), "\(problem.detail)")
    }

    @Test(arguments: ["[]", "1", #""x""#, "null", #"[{"batch":[]}]"#])
    func `a batch is an object`(body: String) {
        #expect(TrackingReading.problem(body)?.reason == .notAnObject)
    }

    @Test func `a context that is no object is refused`() {
        #expect(TrackingReading.problem(#"{"batch":[{}],"context":[]}"#)?.reason == .contextNotObject)
        #expect(TrackingReading.problem(#"{"batch":[{}],"context":"x"}"#)?.reason == .contextNotObject)
    }

    @Test(arguments: [
        (#"{"batch":[{}]}x"#, 15), (#"{"batch":[{}]]"#, 14), (#"{"batch":[{}}}"#, 13), (#"{"batch":[{},]}"#, 14),
        (#"{"batch":[,{}]}"#, 11), (#"{"batch":[{},,{}]}"#, 14), (#"{"batch":[{} {}]}"#, 14), (#"{"batch":[{}],}"#, 15),
        (#"{"batch":[{}] "a":1}"#, 15), (#"{"batch":[{"a":1]]}"#, 17), (#"{"batch":[{}],"a":01}"#, 19),
        (#"{"batch":[tru]}"#, 11), (#"{"batch":[{"writeKey":x}]}"#, 23), (#"{"batch":[{}],"a":"\x"}"#, 20),
        (#"{"batch":[1"a"]}"#, 11), (#"{"batch":[1{]}"#, 11), (#"{"batch"[{}]}"#, 9), (#"{"batch":[{"a":1:[]}"#, 16),
        ("{\"batch\":[{\"a\":\"\n\"}]}", 17), ("{\"batch\":[{}],\"a\":\"\t\"}", 20),
        (#"{"batch":[{"sentAt":nul}],"sentAt":"T"}"#, 21),
        (#"{"batch":[{"context":{"a":1]}],"context":{"b":1}}"#, 28),
    ])
    func `a fault outside the scanned lines has its place in the body`(body: String, place: Int) throws {
        let problem = try #require(TrackingReading.problem(body))
        #expect(problem.reason == .invalidJSON)
        #expect(problem.detail.contains("byte \(place)"), "\(problem.detail)")
    }

    @Test func `the number of events is limited by the name of the limit`() throws {
        let items = Array(repeating: "{}", count: 2500).joined(separator: ",")
        #expect(try TrackingReading("{\"batch\":[\(items)]}").lines.count == 2500)
        let problem = try #require(TrackingReading.problem("{\"batch\":[\(items),{}]}"))
        #expect(problem.reason == .tooLarge)
        #expect(problem.detail.contains("2501") && problem.detail.contains("max_batch_events"))
    }

    @Test func `a large item is refused, and the others are not`() throws {
        var limits = TrackingReading.limits
        limits.maximumEventSize = 20
        let largest = #"{"a":"012345678901"}"#
        #expect(largest.utf8.count == 20)
        let reading = try TrackingReading(
            #"{"batch":[{"a":"0123456789012","messageId":"m"},\#(largest),{"b":1}]}"#, limits: limits)
        #expect(reading.lines == [largest, #"{"b":1}"#])
        #expect(reading.items == [1, 2])
        #expect(reading.refused == [.tooLarge])
        #expect(reading.messageIDs == ["m"])
        // What the batch adds counts.
        let added = try TrackingReading(#"{"batch":[{"b":123456789},{}],"sentAt":"T"}"#, limits: limits)
        #expect(added.lines == [#"{"sentAt":"T"}"#])
        #expect(added.refused == [.tooLarge])
        let fault = #"{"batch":[{"a":"0123456789012345","b":tru},{}]}"#
        #expect(TrackingReading.problem(fault, limits: limits)?.reason == .invalidJSON)
    }

    @Test func `a small body cannot become a large one`() throws {
        let text = String(repeating: "x", count: 30_000)
        let items = Array(repeating: "{}", count: 2500).joined(separator: ",")
        let problem = try #require(TrackingReading.problem("{\"context\":{\"a\":\"\(text)\"},\"batch\":[\(items)]}"))
        #expect(problem.reason == .tooLarge)
        let large = String(repeating: "x", count: 40_000)
        let context = try #require(TrackingReading.problem("{\"context\":{\"a\":\"\(large)\"},\"batch\":[{}]}"))
        #expect(context.reason == .tooLarge && context.detail.contains("context"))
    }

    @Test func `the envelope has the depth limit of an event, and an item is left to the scan`() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        #expect(TrackingReading.problem("{\"batch\":[{}],\"a\":\(nested(63))}") == nil)
        let problem = try #require(TrackingReading.problem("{\"batch\":[{}],\"a\":\(nested(64))}"))
        #expect(problem.reason == .tooDeep)
        #expect(problem.detail.contains("byte 82"), "\(problem.detail)")
        let deep = "{\"a\":\(nested(10_000))}"
        #expect(try TrackingReading("{\"batch\":[\(deep),{}, 1]}").lines == [deep, "{}"])
    }

    @Test func `a reader keeps nothing of the last request`() throws {
        let reader = TrackingRequestReader(limits: TrackingReading.limits)
        let one = Array(#"{"writeKey":"k","context":{"a":1},"sentAt":"T","batch":[{},{},1]}"#.utf8)
        let two = Array(#"{"batch":[{"b":2}]}"#.utf8)
        for _ in 0..<3 {
            #expect(try TrackingReading(one, .batch, by: reader).lines.count == 2)
            let second = try TrackingReading(two, .batch, by: reader)
            #expect(second.lines == [#"{"b":2}"#] && second.writeKey == nil && second.refused == [])
            #expect(throws: RequestProblem.self) {
                try TrackingReading(Array("{\"batch\":[1".utf8), .batch, by: reader)
            }
            #expect(
                try TrackingReading(two, .single(.track), by: reader).lines == [#"{"batch":[{"b":2}],"type":"track"}"#])
        }
    }
}
