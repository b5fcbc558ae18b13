import Control
import Platform

/// What is on the screen. It writes only lines that differ, so nothing flickers and little is sent over ssh.
struct TopFrame {
    private let style: ScreenStyle
    private var lines: [String] = []
    private var size = TopScreen.Size(columns: 0, rows: 0)

    init(_ style: ScreenStyle) { self.style = style }

    /// The next drawing writes everything.
    mutating func forget() { size = TopScreen.Size(columns: 0, rows: 0) }

    mutating func draw(_ screen: TopScreen, _ state: TopState, _ terminal: TerminalScreen) {
        let now = terminal.size
        let size = TopScreen.Size(columns: now.columns, rows: now.rows)
        let next = screen.draw(state, size).map { $0.render(width: size.columns, style) }
        var text = ""
        if size != self.size {
            text = "\u{1B}[0m\u{1B}[2J"
            lines = []
        }
        for row in 0..<max(next.count, lines.count) {
            let line = row < next.count ? next[row] : ""
            if row < lines.count, lines[row] == line { continue }
            // Erased first: after a full line, the cursor still stands on its last character.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K\(line)\u{1B}[0m"
        }
        lines = next
        self.size = size
        if !text.isEmpty { terminal.write(text) }
    }
}
