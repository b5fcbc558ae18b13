import Events
import RequestBodies
import Testing

/// Requests in JSON.
@Suite struct OTLPJSONTests {
    private func line(_ fields: String) throws -> String {
        let body = OTLPSample.json(
            #"{"eventName":"E","attributes":[{"key":"user.id","value":{"stringValue":"u"}}]\#(fields)}"#)
        let lines = try OTLPSample.lines(body, .json)
        return OTLPSample.texts(lines).first ?? "\(lines.refused)"
    }

    private func json(_ value: String) throws -> String {
        let line = try line(
            #","attributes":[{"key":"session.id","value":{"intValue":1}},{"key":"v","value":\#(value)}]"#)
        let parts = line.split(separator: #""v":"#, maxSplits: 1)
        return parts.count == 2 ? String(parts[1].dropLast(2)) : line
    }

    @Test(
        arguments: [
            (#"{"stringValue":"a\u00e9\ud83d\ude42\n"}"#, #""aé🙂\n""#), (#"{"stringValue":""}"#, #""""#),
            (#"{"boolValue":true}"#, "true"), (#"{"boolValue":false}"#, "false"),
            (#"{"intValue":"9223372036854775807"}"#, "9223372036854775807"),
            (#"{"intValue":-9223372036854775808}"#, "-9223372036854775808"), (#"{"intValue":7e3}"#, "7000"),
            (#"{"intValue":"-0"}"#, "0"), (#"{"doubleValue":1.5}"#, "1.5"), (#"{"doubleValue":"1e300"}"#, "1e+300"),
            (#"{"doubleValue":"NaN"}"#, #""NaN""#), (#"{"doubleValue":"-Infinity"}"#, #""-Infinity""#),
            (#"{"doubleValue":"Infinity"}"#, #""Infinity""#), (#"{"bytesValue":"_-8"}"#, #""/+8=""#),
            (#"{"arrayValue":{"values":[{"intValue":1},{}]}}"#, "[1,null]"), (#"{"arrayValue":{}}"#, "[]"),
            (#"{"kvlistValue":{"values":[{"key":"a"},{"value":{"intValue":2},"key":"b"}]}}"#, #"{"a":null,"b":2}"#),
            (#"{"stringValue":null}"#, "null"), ("null", "null"), ("{}", "null"),
            // Unknown names are skipped, whatever their values.
            (#"{"string_value":"x","intValue":1,"new":[{"a":[1,{}]},"\"",-1e5,null,true]}"#, "1"),
            // The last one counts.
            (#"{"intValue":1,"intValue":2}"#, "2"), (#"{"intValue":1,"stringValue":"s"}"#, #""s""#),
            (#"{"arrayValue":{"values":[{"intValue":1}],"values":[{"intValue":2}]}}"#, "[2]"),
            (#"{"arrayValue":{"values":[{"intValue":1}],"values":null}}"#, "[]"),
            // Names may have escapes.
            (#" { "int\u0056alue" : 1 } "#, "1"),
        ]) func `a value in JSON means the same as in protobuf`(_ value: String, _ expected: String) throws
    {
        #expect(try json(value) == expected)
    }

    @Test(
        arguments: [
            (#"{"intValue":1.5}"#, "intValue: expected an integer of 64 bits"),
            (#"{"intValue":"9223372036854775808"}"#, "intValue: expected an integer of 64 bits"),
            (#"{"intValue":"x"}"#, "intValue"), (#"{"intValue":true}"#, "intValue"), (#"{"intValue":[1]}"#, "value"),
            (#"{"doubleValue":1e400}"#, "doubleValue: expected a number"), (#"{"doubleValue":"1e400"}"#, "doubleValue"),
            (#"{"doubleValue":""}"#, "doubleValue"), (#"{"boolValue":"true"}"#, "boolValue: expected true or false"),
            (#"{"boolValue":0}"#, "boolValue"), (#"{"stringValue":1}"#, "expected a string, found '1'"),
            (#"{"stringValue":"\ud83d"}"#, "invalid escape"), (#"{"stringValue":"\x"}"#, "invalid escape"),
            ("{\"stringValue\":\"\n\"}", "control character"), (#"{"bytesValue":"?"}"#, "base64"),
            (#"{"arrayValue":[]}"#, "expected '{', found '['"), (#"{"arrayValue":{"values":{}}}"#, "expected '['"),
            (#"{"arrayValue":{"values":[null]}}"#, "expected '{', found 'n'"),
            (#"{"intValue":1,}"#, "expected a string"),
            (#"{"intValue":01}"#, "expected a value"), (#"{"new":nul}"#, "expected a value"),
            (#"{"new":[1,]}"#, "value"),
            (#"{"new":{"a":1]}"#, "expected ',' or '}'"), (#"{"new":[}"#, "expected a value, found '}'"),
            (#"{"new" 1}"#, "expected ':'"), (#"{"new":"\q"}"#, "invalid escape"), ("7", "expected '{', found '7'"),
        ]) func `a wrong value names its byte and what was expected`(_ value: String, _ detail: String) throws
    {
        let problem = #expect(throws: RequestProblem.self) { try json(value) }
        #expect(problem?.reason == .invalidJSON)
        #expect(problem?.detail.contains(detail) == true, "\(problem?.detail ?? "")")
        #expect(problem?.detail.contains("in JSON: byte ") == true)
    }

    @Test func `a position is counted from 1`() throws {
        let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(Array(" {]".utf8), .json) }
        #expect(
            problem?.detail == "the body is not an OTLP request in JSON: byte 3: expected a string, found ']'")
    }

    @Test(
        arguments: [
            (#","timeUnixNano":"18446744073709551615""#, #""timestamp":"2554-07-21T23:34:33.709551615Z""#),
            (#","timeUnixNano":1500000000"#, #""timestamp":"1970-01-01T00:00:01.500Z""#),
            (#","severityNumber":24"#, #""severity_number":24"#), (#","severityNumber":-2147483648"#, "-2147483648"),
            (#","flags":4294967295"#, #""flags":4294967295"#),
            (#","droppedAttributesCount":"4294967295""#, #""dropped_attributes_count":4294967295"#),
            (#","traceId":"0102030405060708090A0B0C0D0E0F10""#, #""trace_id":"0102030405060708090a0b0c0d0e0f10""#),
            (#","spanId":"0102030405060708""#, #""span_id":"0102030405060708""#),
            (#","body":{"intValue":1}"#, #""body":1"#),
            (#","eventName":"F""#, #""event":"F""#),
        ]) func `the fields of a record are read`(_ fields: String, _ expected: String) throws
    {
        #expect(try line(fields).contains(expected))
    }

    @Test(arguments: [
        #","timeUnixNano":-1"#, #","timeUnixNano":"18446744073709551616""#, #","timeUnixNano":1.5"#,
        #","severityNumber":2147483648"#, #","severityNumber":"INFO""#, #","flags":-1"#, #","flags":4294967296"#,
        #","droppedAttributesCount":4294967296"#, #","traceId":"xyz""#, #","traceId":"012""#, #","attributes":{}"#,
    ]) func `a field of the wrong type or size is refused`(_ fields: String) {
        let problem = #expect(throws: RequestProblem.self) { try line(fields) }
        #expect(problem?.reason == .invalidJSON)
    }

    @Test(arguments: ["", " ", "[]", "null", "{", "{}x", "{}{}", "\u{FEFF}{}", #"{"resourceLogs":[{}}"#])
    func `a body that is not one object is refused`(_ body: String) {
        let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(Array(body.utf8), .json) }
        #expect(problem?.reason == .invalidJSON)
    }

    @Test func `a body that is not UTF-8 is refused`() {
        let body = Array(#"{"new":""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        let problem = #expect(throws: RequestProblem.self) { try OTLPSample.lines(body, .json) }
        #expect(problem?.reason == .invalidUTF8)
    }

    @Test func `deep nesting in unknown fields costs no stack`() throws {
        let deep = String(repeating: #"[{"a":"#, count: 200_000) + "1" + String(repeating: "}]", count: 200_000)
        #expect(try OTLPSample.lines(Array(#"{"new":\#(deep)}"#.utf8), .json).count == 0)
        #expect(throws: RequestProblem.self) {
            try OTLPSample.lines(Array(#"{"new":\#(deep.dropLast())}"#.utf8), .json)
        }
    }

    @Test func `white space between tokens is allowed`() throws {
        let body = OTLPSample.pythonJSON.flatMap { byte -> [UInt8] in
            [UInt8(ascii: "["), UInt8(ascii: "]")].contains(byte) ? [0x0A, byte, 0x09, 0x0D] : [byte]
        }
        #expect(try OTLPSample.lines(body, .json).bytes == OTLPSample.lines(OTLPSample.pythonJSON, .json).bytes)
    }
}
