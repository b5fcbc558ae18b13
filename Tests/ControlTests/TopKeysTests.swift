import Control
import Foundation
import Testing

/// The keys of `penstock top`.
@Suite struct TopKeysTests {
    private static let report = StatusReportTests.report([
        "archive": StatusReportTests.destination(),
        "mixpanel": StatusReportTests.destination(.held),
        "sales": StatusReportTests.destination(.retrying),
    ])

    private func pressed(_ keys: TopState.Key..., in state: TopState = TopState()) -> TopState {
        var state = state
        for key in keys {
            let continues = state.press(key, Self.report, TopHistory())
            #expect(continues)
        }
        return state
    }

    private func rows(_ state: TopState) -> [String] {
        let lines = TopScreen(report: Self.report).draw(state, .init(columns: 100, rows: 30))
        let names = ["apps", "archive", "mixpanel", "sales"]
        return lines.compactMap { line in names.first { line.text.hasPrefix($0) } }
    }

    @Test func `bytes become keys, also in pieces`() {
        var keys = TopKeys()
        #expect(keys.add("qé\r\u{7F}".utf8) == [.character("q"), .character("é"), .enter, .backspace])
        #expect(
            keys.add("\u{1B}[A\u{1B}OB\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[4~".utf8) == [
                .up, .down, .pageUp, .pageDown, .home, .end,
            ])
        #expect(keys.add([0x1B]).isEmpty && keys.isUndecided)
        #expect(keys.add([UInt8(ascii: "[")]).isEmpty)
        #expect(keys.add([UInt8(ascii: "B")]) == [.down])
        #expect(keys.add([0x1B]).isEmpty)
        #expect(keys.flush() == [.escape] && !keys.isUndecided)
        #expect(keys.add([0xC3]).isEmpty && keys.isUndecided)
        #expect(keys.add([0xA9]) == [.character("é")])
        #expect(keys.add("\u{1B}[1;5C".utf8).isEmpty && !keys.isUndecided, "an unknown sequence is passed over")
        // Random bytes never stop it, and it keeps few of them.
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            _ = keys.add((0..<40).map { _ in UInt8.random(in: 0...255, using: &generator) })
            _ = keys.add([0x1B, UInt8(ascii: "[")] + Array(repeating: UInt8(ascii: "1"), count: 50))
        }
        _ = keys.flush()
        #expect(keys.add([UInt8(ascii: "x")]) == [.character("x")])
    }

    @Test func `q quits, but not while a filter is typed`() {
        var state = TopState()
        let continues = state.press(.character("q"), Self.report, TopHistory())
        #expect(!continues)
        state = pressed(.character("/"), .character("q"))
        #expect(rows(state).isEmpty)
        #expect(pressed(.escape, in: state) == TopState())
    }

    @Test func `a filter leaves the rows whose names contain it`() {
        let typed = pressed(.character("/"), .character("A"), .character("R"))
        #expect(rows(typed) == ["archive"])
        let kept = pressed(.backspace, .enter, in: typed)
        #expect(rows(kept) == ["apps", "archive", "mixpanel", "sales"])
        #expect(rows(pressed(.character("/"), .character("x"), .enter)) == ["mixpanel"])
        #expect(rows(pressed(.character("/"), .character("x"), .enter, .escape)).count == 4)
        var long = pressed(.character("/"))
        for _ in 0..<1000 { long = pressed(.character("x"), in: long) }
        #expect(rows(long).isEmpty)
    }

    @Test func `s sorts by the next column, and r reverses the order`() {
        #expect(rows(TopState()) == ["apps", "archive", "mixpanel", "sales"])
        #expect(rows(pressed(.character("r"))) == ["apps", "sales", "mixpanel", "archive"])
        var state = TopState()
        for _ in 0..<4 { state = pressed(.character("s"), in: state) }
        #expect(rows(state) == ["apps", "mixpanel", "sales", "archive"], "destinations that are not up come first")
        #expect(pressed(.character("s"), in: state) == TopState())
    }

    @Test func `Enter shows the selected row, and Escape goes back`() {
        let details = pressed(.down, .down, .enter)
        #expect(
            TopScreen(report: Self.report).draw(details, .init(columns: 80, rows: 24)).contains {
                $0.text.hasPrefix("destination mixpanel")
            })
        #expect(pressed(.enter).view != .list, "the first row, if none was selected")
        #expect(pressed(.escape, in: details).view == .list)
        let source = TopScreen(report: Self.report).draw(pressed(.home, .enter), .init(columns: 80, rows: 24))
        #expect(source.contains { $0.text.hasPrefix("source apps") })
        #expect(source.contains { $0.text.contains("too_large 2") })
        // The destination is removed while its page is shown.
        let gone = TopScreen(report: StatusReportTests.report()).draw(details, .init(columns: 80, rows: 24))
        #expect(gone.contains { $0.text.contains("is not in the report any more") })
        // Help, and keys before the first report.
        #expect(pressed(.character("?")).view == .help)
        var empty = TopState()
        for key in [TopState.Key.enter, .down, .end, .character("s")] {
            let continues = empty.press(key, nil, TopHistory())
            #expect(continues)
        }
        #expect(empty.view == .list)
    }

    @Test(arguments: [
        ([], 3, "   "), ([1], 3, "  █"), ([0, 4, 8], 3, " ▄█"), ([1, 2, 3, 4, 5, 6, 7, 8], 8, "▁▂▃▄▅▆▇█"),
        ([.infinity, .nan, -1], 3, "   "), ([9, 1, 1], 2, "██"), ([1], 0, ""),
    ])
    func `a trend is drawn in relation to its largest value`(values: [Double], width: Int, text: String) {
        #expect(Sparkline.draw(values, width: width) == text)
    }

    @Test(arguments: [
        ("abc", 5, "abc  "), ("abcdef", 4, "abc…"), ("漢字漢字", 5, "漢字…"), ("漢字漢字", 4, "漢… "),
        ("e\u{301}x", 2, "e\u{301}x"),
        ("abc", 0, ""), ("abc", 1, "…"), ("", 2, "  "),
    ])
    func `a text has exactly its width`(text: String, width: Int, fitted: String) {
        #expect(ScreenText.fit(text, width) == fitted)
        #expect(ScreenText.columns(of: ScreenText.fit(text, width)) == width)
    }
}
