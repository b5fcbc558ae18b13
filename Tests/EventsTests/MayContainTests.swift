import Events
import Testing

/// A quick test for a string in JSON text. It may answer yes wrongly, never no.
@Suite struct MayContainTests {
    private func mayContain(_ string: String, _ json: String) -> Bool {
        mayContain(Array(string.utf8), Array(json.utf8))
    }

    private func mayContain(_ string: [UInt8], _ json: [UInt8]) -> Bool {
        JSONText.mayContain(string.span, in: json.span)
    }

    @Test(arguments: 0...80) func `a key is found at any offset`(padding: Int) {
        let before = String(repeating: "x", count: padding)
        for after in [0, 1, 7, 15, 16, 17, 40] {
            let json = before + #""routed""# + String(repeating: "y", count: after)
            #expect(mayContain(#""routed""#, json))
            #expect(!mayContain(#""router""#, json))
        }
    }

    @Test(arguments: 0...80) func `text with a backslash may have any key`(padding: Int) {
        let json = String(repeating: "x", count: padding) + "\\" + String(repeating: "y", count: 80 - padding)
        #expect(mayContain(#""routed""#, json))
    }

    /// Few different bytes, so that the text often nearly matches.
    @Test func `a text of any length is found at any place, also at the ends, and ruled out elsewhere`() {
        var random = SplitMix(state: 31)
        var found = 0
        for length in 4...70 {
            for count in [0, 3, length - 1, length, length + 1, length + 31, length + 32, length + 33, 200] {
                let alphabet = Array("\"ab".utf8)
                let text = (0..<length).map { _ in alphabet.randomElement(using: &random) ?? 0 }
                var json = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
                #expect(mayContain(text, json) == json.contains(text))
                guard count >= length else { continue }
                let places = [0, count - length, Int.random(in: 0...count - length, using: &random)]
                let place = places.randomElement(using: &random) ?? 0
                json.replaceSubrange(place..<place + length, with: text)
                #expect(mayContain(text, json))
                found += 1
                json = Array(repeating: UInt8(ascii: "x"), count: count)
                #expect(!mayContain(text, json))
                json[Int.random(in: 0..<count, using: &random)] = UInt8(ascii: "\\")
                #expect(mayContain(text, json))
            }
        }
        #expect(found > 300)
    }

    @Test func `an absent key is ruled out`() {
        #expect(!mayContain(#""routed""#, ""))
        #expect(!mayContain(#""routed""#, #""route""#))
        #expect(
            !mayContain(
                #""routed""#, #"{"a":"routed","b":"routeds","c":1,"d":"xroutedx"}"#.replacing("\"routed\"", with: "1")))
        #expect(mayContain(#""a""#, #"{"b":1}"#), "the key is too short to be ruled out")
    }
}
