import Events
import Testing

@Suite struct JSONValidatorTests {
    private func fault(_ text: String, depth: Int = 8) -> JSONFault? { fault(Array(text.utf8), depth: depth) }

    private func fault(_ bytes: [UInt8], depth: Int = 8) -> JSONFault? {
        let text = bytes + [0x0A]
        do throws(JSONFault) {
            try JSONValidator().check(text.span, maximumDepth: depth)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "{}", "[]", " 1 ", "\"\"", "null", "[[[[[[[[]]]]]]]]", #""\ud83d""#, #""\ud83d\u0041""#, #""\udc00x""#,
        #"{"a":[1e999,-0.0,true,false,null,"\"\\\/\b\f\n\r\té"]}"#, "1\r\n",
    ])
    func `one value of any kind is valid, half of a surrogate pair included`(text: String) {
        #expect(fault(text) == nil)
    }

    @Test(arguments: [
        ("", "in the middle"), (" ", "in the middle"), ("{} {}", "byte 4"), ("[1,]", "byte 4"), ("nul", "byte 1"),
        ("{\"a\"", "in the middle"), ("{\"a\":\"x", "byte 6"), ("\"a\\\"b", "byte 1"), ("[\"\t\"]", "byte 3"),
        ("[\"a\\\\\",\"\u{0}\"]", "byte 9"), (#"["\x"]"#, "byte 3"), (#"["\ud83d\u12g4"]"#, "byte 9"),
        (#"["\ud83d\uzzzz"]"#, "byte 9"), (#"["\u12"]"#, "byte 3"), ("\u{FEFF}1", "byte order mark"), ("01", "byte 1"),
    ])
    func `a fault is explained with its place`(text: String, place: String) {
        let fault = fault(text)
        #expect(fault?.reason == .invalidJSON)
        #expect(fault?.detail.contains(place) == true, "\(fault?.detail ?? "valid")")
    }

    @Test func `nesting is limited`() {
        let fault = fault("[[[[[[[[[]]]]]]]]]")
        #expect(fault?.reason == .tooDeep)
        #expect(fault?.detail == "objects and lists are nested deeper than 8 at byte 9; flatten them")
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        #expect(self.fault(deep, depth: .max) == nil)
    }

    @Test func `bytes that are not UTF-8 are a fault with their place`() {
        let fault = fault(Array("[\"é".utf8) + [0xFF] + Array("\"]".utf8))
        #expect(fault?.reason == .invalidUTF8)
        #expect(fault?.detail.contains("byte 5") == true)
    }

    @Test func `the caller can shift the place of a fault`() throws {
        let text = Array("[x]\n".utf8)
        let fault = #expect(throws: JSONFault.self) { try JSONValidator().check(text.span) { $0 + 100 } }
        #expect(fault?.detail.contains("byte 102") == true)
    }
}
