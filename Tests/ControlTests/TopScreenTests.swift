import Control
import Foundation
import Platform
import Testing

/// What `penstock top` draws.
@Suite struct TopScreenTests {
    private static let colour = ScreenStyle(hasColour: true, isUnicode: true)
    private static let plain = ScreenStyle(hasColour: false, isUnicode: true)

    /// A screen after a few reports, one second apart.
    private static func screen(
        _ destinations: [String: StatusReport.Destination] = [:], reasons: [String] = [], problem: String? = nil
    ) -> TopScreen {
        var history = TopHistory()
        var report = StatusReportTests.report(destinations, reasons: reasons)
        for second in 0..<5 {
            report.sources["apps"]?.accepted = UInt64(1000 * second * second)
            for name in destinations.keys { report.destinations[name]?.delivered = UInt64(500 * second) }
            history.add(report, at: Double(second))
        }
        return TopScreen(report: report, history: history, problem: problem)
    }

    private static let two = [
        "archive": StatusReportTests.destination(),
        "sales": StatusReportTests.destination(.retrying, lagSeconds: 90, lastError: "HTTP 503: later"),
    ]

    private static func text(_ lines: [ScreenLine], _ width: Int, _ style: ScreenStyle = plain) -> [String] {
        lines.map { $0.render(width: width, style) }
    }

    @Test func `the help fits 80 by 24`() {
        var state = TopState()
        _ = state.press(.character("?"), nil, TopHistory())
        let lines = Self.screen(Self.two).draw(state, .init(columns: 80, rows: 24))
        let wide = Self.text(lines, 200), narrow = Self.text(lines, 80)
        #expect(wide == narrow)
        #expect(narrow.contains { $0.contains("since the daemon's start.") })
    }

    @Test func `80 by 24 shows health, the journal, rates, lags and errors`() throws {
        let screen = Self.screen(Self.two, reasons: ["sales retrying: HTTP 503, 90 s behind"])
        let lines = Self.text(screen.draw(TopState(), .init(columns: 80, rows: 24)), 80)
        #expect(lines.count == 24)
        let all = lines.joined(separator: "\n")
        #expect(all.contains("degraded") && all.contains("7,000 events/s"), "\(all)")
        #expect(all.contains("  - sales retrying: HTTP 503, 90 s behind"))
        #expect(all.contains("journal ") && all.contains("64.0 MiB of 20.0 GiB"))
        let sales = try #require(lines.first { $0.hasPrefix("sales") })
        #expect(sales.contains("retrying") && sales.contains("500") && sales.contains("90 s"), "\(sales)")
        #expect(sales.contains("HTTP 5"), "the error is cut, not left out: \(sales)")
        #expect(
            lines.contains { $0.contains("apps") && $0.contains("7,000") && $0.contains("▂") && $0.contains("█") },
            "\(all)")
        #expect(lines.last?.contains("q quit  s sort: name") == true)
    }

    @Test func `the latencies of destinations are columns if there is room, and in the details`() throws {
        var two = Self.two
        two["archive"]?.latency = .init(p50: 0.012, p99: 0.25)
        let screen = Self.screen(two)
        let small = Self.text(screen.draw(TopState(), .init(columns: 80, rows: 24)), 80)
        let wide = Self.text(screen.draw(TopState(), .init(columns: 132, rows: 24)), 132)
        for lines in [small, wide] {
            let archive = try #require(lines.first { $0.hasPrefix("archive") })
            #expect(archive.contains("0.25 s"), "\(lines)")
            let title = try #require(lines.first { $0.contains("DESTINATION") })
            #expect(title.contains("P99") && title.contains("LAG"))
        }
        #expect(wide.contains { $0.hasPrefix("archive") && $0.contains("12 ms") })
        var state = TopState()
        for key in [TopState.Key.down, .enter] { _ = state.press(key, screen.report, screen.history) }
        let details = Self.text(screen.draw(state, .init(columns: 80, rows: 24)), 80)
        #expect(details.contains { $0.contains("latency  ") && $0.contains("p50 12 ms, p99 0.25 s") }, "\(details)")
    }

    @Test(arguments: [(1, 1), (2, 2), (5, 3), (10, 4), (20, 5), (40, 10), (80, 24), (132, 43), (300, 100), (1000, 2)])
    func `every size is filled and never exceeded`(columns: Int, rows: Int) {
        let many = Dictionary(
            uniqueKeysWithValues: (0..<150).map {
                (
                    "destination-with-a-long-name-\($0)",
                    StatusReportTests.destination(.held, lastError: "Fehler: Zähne 漢字漢字")
                )
            })
        var states = [TopState()]
        for keys in [
            [TopState.Key.enter], [.character("?")], [.character("/"), .character("x")], [.end, .enter, .end],
        ] {
            var state = TopState()
            let screen = Self.screen(many)
            for key in keys { _ = state.press(key, screen.report, screen.history) }
            states.append(state)
        }
        for destinations in [[:], Self.two, many] {
            for problem in [nil, "penstockd is not running"] {
                let screen = Self.screen(
                    destinations, reasons: (0..<50).map { "reason \($0) that is quite long" }, problem: problem)
                for (state, empty) in states.flatMap({ [($0, false), ($0, true)] }) {
                    let shown = empty ? TopScreen(problem: problem) : screen
                    let lines = shown.draw(state, .init(columns: columns, rows: rows))
                    #expect(lines.count <= rows && (rows < 4 || lines.count == rows))
                    for line in Self.text(lines, columns) {
                        let bare = line.replacing(/\u{1B}\[[0-9;]*m/, with: "")
                        #expect(ScreenText.columns(of: bare) <= columns, "\(bare)")
                    }
                }
            }
        }
        #expect(Self.screen().draw(TopState(), .init(columns: 0, rows: 0)).isEmpty)
    }

    @Test func `without colour there is none, and without UTF-8 everything is ASCII`() {
        let screen = Self.screen(Self.two, reasons: ["a reason"])
        let lines = screen.draw(TopState(), .init(columns: 100, rows: 24))
        let coloured = Self.text(lines, 100, Self.colour).joined()
        #expect(coloured.contains("\u{1B}[33mretrying") && coloured.contains("\u{1B}[32m"))
        let plain = Self.text(lines, 100).joined()
        #expect(plain.firstMatch(of: /\u{1B}\[3[0-9]m/) == nil)
        #expect(plain.contains("\u{1B}[7m"), "the selected row is still marked")
        let ascii = Self.text(lines, 100, .init(hasColour: false, isUnicode: false)).joined()
        #expect(ascii.allSatisfy { $0.isASCII }, "\(ascii)")
        #expect(ascii.contains("#"), "the trend is drawn: \(ascii)")
    }

    @Test func `control characters of a service's answer never reach the terminal`() {
        var evil = StatusReportTests.destination(
            .retrying, lastError: "\u{1B}]0;title\u{7}\u{1B}[2J", answer: "a\rb\u{9B}2J")
        evil.filteredByReason = ["x\u{1B}[31m": 1]
        let screen = Self.screen(["e\u{1B}[2J": evil], reasons: ["\u{1B}[2J reason"], problem: "\u{1B}[2J")
        var details = TopState()
        _ = details.press(.end, screen.report, screen.history)
        _ = details.press(.enter, screen.report, screen.history)
        for state in [TopState(), details] {
            let lines = Self.text(screen.draw(state, .init(columns: 120, rows: 40)), 120)
            for line in lines {
                let bare = line.replacing(/\u{1B}\[[0-9;]*m/, with: "")
                #expect(
                    !bare.unicodeScalars.contains { $0.value < 0x20 || 0x7F...0x9F ~= $0.value },
                    "\(bare.debugDescription)")
            }
        }
        #expect(details.view == .details(.destination("e\u{1B}[2J")))
    }

    @Test func `a daemon that does not run is named, above the last report`() {
        let lines = Self.text(
            Self.screen(Self.two, problem: "penstockd is not running: …").draw(
                TopState(), .init(columns: 80, rows: 24)), 80)
        #expect(lines[0].contains("not running"))
        #expect(lines[1].contains("penstockd is not running"))
        #expect(lines.contains { $0.hasPrefix("sales") })
    }

    @Test func `rates come from two reports, and a restart of the daemon is no negative rate`() {
        var history = TopHistory()
        var report = StatusReportTests.report()
        let series = TopHistory.Series.accepted(source: "apps")
        history.add(report, at: 10)
        #expect(history.rate(of: series) == nil)
        report.sources["apps"]?.accepted += 500
        history.add(report, at: 10.5)
        #expect(history.rate(of: series) == 1000)
        report.sources["apps"]?.accepted = 40
        history.add(report, at: 11.5)
        #expect(history.rate(of: series) == 40)
        // The same time twice, and a source that is gone.
        history.add(report, at: 11.5)
        #expect(history.rates(of: series) == [1000, 40])
        report.sources = [:]
        history.add(report, at: 12)
        #expect(history.rates(of: series) == [])
        report.sources["apps"] = .init(accepted: .max, refused: 0, refusedByReason: [:], connections: 0, listens: [])
        for second in 0..<1000 { history.add(report, at: 20 + Double(second)) }
        #expect(history.rates(of: series).count == 120, "a bounded number is kept")
    }
}
