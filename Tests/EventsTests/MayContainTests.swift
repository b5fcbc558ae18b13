import Events
import Testing

/// A quick test for a key in JSON text. It may answer yes wrongly, never no.
@Suite struct MayContainTests {
    private func mayHave(_ key: String, _ json: String) -> Bool {
        let (key, json) = (Array(key.utf8), Array(json.utf8))
        return JSONText.mayContain(key.span, in: json.span)
    }

    @Test(arguments: 0...80) func `a key is found at any offset`(padding: Int) {
        let before = String(repeating: "x", count: padding)
        for after in [0, 1, 7, 15, 16, 17, 40] {
            let json = before + #""routed""# + String(repeating: "y", count: after)
            #expect(mayHave(#""routed""#, json))
            #expect(!mayHave(#""router""#, json))
        }
    }

    @Test(arguments: 0...80) func `text with a backslash may have any key`(padding: Int) {
        let json = String(repeating: "x", count: padding) + "\\" + String(repeating: "y", count: 80 - padding)
        #expect(mayHave(#""routed""#, json))
    }

    @Test func `an absent key is ruled out`() {
        #expect(!mayHave(#""routed""#, ""))
        #expect(!mayHave(#""routed""#, #""route""#))
        #expect(
            !mayHave(
                #""routed""#, #"{"a":"routed","b":"routeds","c":1,"d":"xroutedx"}"#.replacing("\"routed\"", with: "1")))
        #expect(mayHave(#""a""#, #"{"b":1}"#), "the key is too short to be ruled out")
    }
}
