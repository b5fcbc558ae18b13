import Events
import Testing

// `#expect` cannot capture spans. These functions return values that it can.
private func decoded(_ contents: String) -> String? { JSONText.string(contents.utf8.span) }
private func decodes(_ contents: String, to text: String) -> Bool {
    JSONText.contents(contents.utf8.span, equal: text.utf8.span)
}
private func unescape(_ contents: String, into output: inout [UInt8]) -> Bool {
    JSONText.unescape(contents.utf8.span, into: &output)
}
private func text(_ bytes: [UInt8]) -> String? { JSONText.text(bytes.span) }
private func haveSameBytes(_ a: [UInt8], _ b: [UInt8]) -> Bool { a.span.hasBytes(of: b.span) }

@Suite struct JSONTextTests {
    static let pairs: [(String, String)] = [
        ("", ""), ("plain", "plain"), ("é😀", "é😀"), (#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#"a\u0041\u00e9\u20AC\ud83d\uDE00z"#, "aAé€😀z"), (#"\u0000"#, "\0"), (#"x\\ny"#, #"x\ny"#),
    ]

    @Test(arguments: pairs) func `string contents are decoded`(_ contents: String, _ text: String) {
        #expect(decoded(contents) == text)
        var output = Array("before ".utf8)
        #expect(unescape(contents, into: &output))
        #expect(output == Array("before \(text)".utf8))
        #expect(decodes(contents, to: text))
        for other in [text + "x", "x" + text, String(text.dropLast()) + "\u{1}"] {
            #expect(!decodes(contents, to: other))
        }
    }

    @Test(arguments: [
        #"\"#, #"\x"#, #"\u"#, #"\u12"#, #"\u12g4"#, #"\ud800"#, #"\ud800\n"#, #"\ud800\u0041"#, #"\udc00"#, #"ok\"#,
        #"\ud83d\ud83d"#, #"\ud83d\u"#,
    ]) func `invalid escapes decode to nothing`(_ contents: String) {
        #expect(decoded(contents) == nil)
        var output: [UInt8] = [1, 2]
        #expect(!unescape(contents, into: &output))
        #expect(output == [1, 2])
        #expect(!decodes(contents, to: "ok"))
        #expect(!decodes(contents, to: contents))
    }

    @Test func `escaped contents do not equal their own spelling`() {
        #expect(!decodes(#"\n"#, to: #"\n"#))
        #expect(decodes(#"\\n"#, to: #"\n"#))
        #expect(!decodes(#"aa\u0062"#, to: "aa"))
    }

    @Test(arguments: [
        ("", #""""#), ("plain é😀", #""plain é😀""#), ("a\"b\\c/d", #""a\"b\\c/d""#),
        ("\u{0}\u{1}\u{1f}\n\r\t\u{8}\u{c}\u{7f}", #""\u0000\u0001\u001f\n\r\t\b\f"# + "\u{7f}\""),
    ]) func `text is written as a JSON string`(_ text: String, _ json: String) {
        var output: [UInt8] = []
        JSONText.appendString(text, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == json)
        #expect(decoded(String(json.dropFirst().dropLast())) == text)
    }

    @Test func `bytes that are not UTF-8 decode to nil`() {
        #expect(text([0x61, 0xFF]) == nil)
        #expect(text([]) == "")
    }

    @Test func `spans can be appended and compared`() {
        var output: [UInt8] = [1]
        let more: [UInt8] = [2, 3]
        let none: [UInt8] = []
        output.append(contentsOf: more.span)
        output.append(contentsOf: none.span)
        #expect(output == [1, 2, 3])
        #expect(haveSameBytes(output, [1, 2, 3]))
        #expect(!haveSameBytes(output, [1, 2, 4]))
        #expect(!haveSameBytes(output, [1, 2]))
    }
}
