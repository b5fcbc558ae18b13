import Events
import Testing

/// Short lines are examined together. Each of them must get the answer that it gets alone.
@Suite struct LinesTogetherTests {
    static let events = [
        #"{"type":"track","event":"Order Completed","userId":"u","messageId":"m","timestamp":"2024-01-31T12:00:00Z"}"#,
        #"{"type":"track","event":"a\"b\\","anonymousId":"\u00e9","properties":{"a":[1,-2.5e3,true],"b":{"c":null}}}"#,
        #" {"ty\u0070e":"page","userId":"é😀","name":"n"}"# + " \r",
        #"{"type":"identify","userId":"u","context":{"traits":{"a":1}}}"#,
        #"{"type":"group","userId":"u"}"#,
        #"{"type":"track","event":7,"userId":"u"}"#,
        #"{"type":"track","event":"e","userId":"u","userId":null}"#,
        "", " \t\r",
    ]
    /// Lines that are no events, or lines that belong together for a parser that takes a line feed for white space.
    static let hostile = [
        #"{"type":"track","event":"e","userId":"u","#, #""context":{}}"#, #"{"a":"#, "[", "]", "}", "{", "{}", "[{}]",
        #"{"type":"track","event":"e","userId":"u"}{"type":"page","userId":"u"}"#,
        #"{"type":"track","event":"e","userId":"u"} x"#, "1", "nul", "l", #""""#, "\"", #"{"a":"b"#, #"c"}"#,
        #"{"type":"page","userId":"u"}\"#, #""{"type":"page","userId":"u"}"#, #"{"type":"page","userId":"u\"#,
        #"{"type":"page","userId":"\ud83d"}"#, #"\ude00"#, #"{"type":"page","userId":"\x"}"#, "\\", "\\\\", "\u{b}",
    ]

    @Test(arguments: 0..<16 as Range<UInt64>)
    func `lines in one buffer have the answers that they have alone`(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        for round in 0..<24 {
            var lines: [[UInt8]] = []
            for _ in 0..<Int.random(in: 1...200, using: &random) {
                // Most rounds have few hostile lines, so that there are lines before and after them.
                let isHostile = Int.random(in: 0..<60, using: &random) < round % 4
                lines.append(Array(((isHostile ? Self.hostile : Self.events).randomElement(using: &random) ?? "").utf8))
                if isHostile, Bool.random(using: &random) { damage(&lines[lines.count - 1], using: &random) }
            }
            check(lines, maximumEventSize: round % 5 == 0 ? 90 : 32 << 10)
        }
    }

    @Test(arguments: [0, 32_600, 32_700, 32_768, 40_000])
    func `a line is found wherever it ends`(_ length: Int) {
        let filler =
            #"{"type":"page","userId":"u","properties":{"a":""# + String(repeating: "a", count: length) + #""}}"#
        let short = Array(Self.events[0].utf8)
        for padding in 0..<130 {
            let long = Array(filler.utf8) + Array(repeating: UInt8(ascii: " "), count: padding)
            check([short, long, short, short], maximumEventSize: 1 << 20)
        }
    }

    private func damage(_ line: inout [UInt8], using random: inout SplitMix) {
        let position = Int.random(in: 0...line.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        // The start of a UTF-8 sequence, at the line's end, perhaps.
        case 0: line.insert([0xc3, 0xe2, 0xf0].randomElement(using: &random) ?? 0xc3, at: position)
        case 1: line.removeSubrange(position...)
        default: line.insert([0x22, 0x5c, 0x7b, 0x80, 0x00].randomElement(using: &random) ?? 0x22, at: position)
        }
    }

    private func check(_ lines: [[UInt8]], maximumEventSize: Int) {
        let together = Scan(Array(lines.map { $0 + [10] }.joined()), maximumEventSize: maximumEventSize)
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        var start = 0
        for (number, line) in lines.enumerated() {
            let alone = Scan(line + [10], maximumEventSize: maximumEventSize)
            for var event in alone.accepted {
                event.offset += UInt32(start)
                event.line = UInt32(number)
                accepted.append(event)
            }
            refused += alone.refused.map { ScannedRefusal(line: number, refusal: $0.refusal) }
            start += line.count + 1
        }
        #expect(together.accepted.map(Answer.init) == accepted.map(Answer.init))
        #expect(together.refused == refused)
        #expect(together.result.lines == lines.count && together.result.consumed == start)
    }

    private struct Answer: Equatable {
        let offset, length, line: UInt32
        let index: EventIndex

        init(_ event: ScannedEvent) {
            (offset, length, line, index) = (event.offset, event.length, event.line, event.index)
        }
    }
}
