import Foundation
import Platform
import Testing

@Suite struct ControlCharactersTests {
    @Test func `characters that steer a terminal are escaped, and other text stays`() {
        #expect("a\u{1B}[31m\u{9B}2J\u{202E}b".withControlCharactersEscaped == #"a\u{1B}[31m\u{9B}2J\u{202E}b"#)
        #expect("größe 名前 🙂".withControlCharactersEscaped == "größe 名前 🙂")
    }

    @Test(arguments: ["\u{7F}", "\u{80}", "\u{9B}", "\u{61C}", "\u{200F}", "\u{2028}", "\u{202E}", "\u{2069}"])
    func `JSON for a terminal has the same value`(_ character: String) throws {
        let value = ["größe": "a\(character)b 名前 🙂", "tab": "\t\"\\"]
        let json = Array(try JSONSerialization.data(withJSONObject: value, options: .sortedKeys))
        let shown = TerminalJSON.escaped(json)
        #expect(!String(decoding: shown, as: UTF8.self).unicodeScalars.contains(character.unicodeScalars.first!))
        #expect(try JSONSerialization.jsonObject(with: Data(shown)) as? [String: String] == value)
    }

    @Test func `JSON without such characters is not changed`() {
        for json in [#"{"a":1}"#, #"{"ü":"\u009b"}"#] {
            #expect(String(decoding: TerminalJSON.escaped(Array(json.utf8)), as: UTF8.self) == json)
        }
    }
}
