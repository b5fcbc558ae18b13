import Events
import Testing

@Suite struct JSONDocumentTests {
    @Test(arguments: [
        ("{\"a\" : [ 1 , null ]\n}", "{\"a\":[1,null]}"), ("  1.50 ", "1.50"), ("\"a\\u00e9\"", "\"a\\u00e9\""),
        ("[]", "[]"), ("{\"\\u0061\" : {}, \"b\":[ true,\tfalse ]}", "{\"\\u0061\":{},\"b\":[true,false]}"),
        ("{\"\\x\":1}", nil), ("{}", "{}"), ("[1,]", nil), ("{\"a\"}", nil), ("{\"a\":1,}", nil), ("01", nil),
        ("nul", nil), ("\"a", nil),
        ("\"\\x\"", nil),
        ("\"\\ud800\"", nil), ("\"a\nb\"", nil), ("[1] 2", nil), ("", nil), ("tru e", nil), ("[1 2]", nil),
    ])
    func `a compact copy has no white space between tokens`(_ text: String, _ expected: String?) {
        var output: [UInt8] = [1]
        let isJSON = append(text, to: &output)
        #expect((isJSON ? String(decoding: output.dropFirst(), as: UTF8.self) : nil) == expected)
        #expect(isJSON || output == [1])
    }

    @Test func `a compact copy is not made of a text that is nested too deeply`() {
        var output: [UInt8] = [1]
        #expect(append(String(repeating: "[", count: 64) + String(repeating: "]", count: 64), to: &output))
        #expect(output.count == 129)
        #expect(!append(String(repeating: "[", count: 65) + String(repeating: "]", count: 65), to: &output))
        #expect(output.count == 129)
    }

    private func append(_ text: String, to output: inout [UInt8]) -> Bool {
        let text = Array(text.utf8)
        return JSONDocument(text, maximumDepth: 64)?.appendCompact(from: text, to: &output) ?? false
    }
}
