import Testing

@testable import RequestBodies

@Suite struct Base64Tests {
    private func decode(_ text: String) -> [UInt8]? {
        var output: [UInt8] = []
        return Base64.decode(text.utf8.span, to: &output) ? output : nil
    }

    // The vectors of RFC 4648.
    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ]) func `bytes are written and read`(_ plain: String, _ text: String)
    {
        var output: [UInt8] = []
        Base64.append(plain.utf8.span, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == text)
        #expect(decode(text) == Array(plain.utf8))
        #expect(decode(text.filter { $0 != "=" }) == Array(plain.utf8))
    }

    @Test func `both alphabets are read`() {
        #expect(decode("+/+/") == [0xFB, 0xFF, 0xBF])
        #expect(decode("-_-_") == [0xFB, 0xFF, 0xBF])
    }

    @Test(arguments: ["A", "AAAAA", "=", "==", "====", "A===", "AA=", "AAA==", "AA=A", "AA A", "ÄÄ", "AA\n="])
    func `other text is refused`(_ text: String) {
        #expect(decode(text) == nil)
    }

    @Test func `every byte survives`() {
        let all = (0...255).map { UInt8($0) }
        for count in [253, 254, 255, 256] {
            let bytes = Array(all[..<count])
            var text: [UInt8] = []
            Base64.append(bytes.span, to: &text)
            #expect(decode(String(decoding: text, as: UTF8.self)) == bytes)
            var hexadecimal: [UInt8] = []
            Hexadecimal.append(bytes.span, to: &hexadecimal)
            var decoded: [UInt8] = []
            #expect(Hexadecimal.decode(hexadecimal.span, to: &decoded))
            #expect(decoded == bytes)
        }
    }

    @Test(arguments: ["0", "0g", "0G", "000", " 0", "é"]) func `other text is not hexadecimal`(_ text: String) {
        var decoded: [UInt8] = []
        #expect(!Hexadecimal.decode(text.utf8.span, to: &decoded))
    }
}
