import Control
import Platform

/// A line on stderr that shows how far a command has come. It prints nothing if stderr is not a terminal, so a command
/// uses it without conditions:
///
///     var bar = ProgressBar("verify", total: bytes)
///     for piece in pieces { bar.show(done: piece.end, note: "\(piece.name)") }
///     bar.clear()
///
/// The line is drawn at most ten times per second, so `show` may be called for every small step. Call `clear` before
/// you print anything else, and at the end.
struct ProgressBar {
    private let isShown: Bool
    private let clock = SystemClock()
    private var text: ProgressText
    private var isDrawn = false

    /// - Parameters:
    ///   - label: the start of the line; empty: none.
    ///   - total: the amount of work, in the unit of `done`; nil: it is unknown, so the line shows only label and note.
    init(_ label: String = "", total: Int?) {
        text = ProgressText(label: label, total: total.map { UInt64(clamping: $0) })
        isShown = StandardStream.error.isTerminal && Environment.value("TERM") != "dumb"
    }

    /// Draws the line if the last one is old enough. With a total, the bar, the percentage and an estimate of the
    /// remaining time are drawn, too.
    /// - Parameter note: what the line says of the work so far: `12,300 events`. Evaluated only if the line is drawn.
    mutating func show(done: Int, note: @autoclosure () -> String) {
        guard isShown else { return }
        let width = StandardStream.error.columns ?? 80
        guard let line = text.next(done: UInt64(clamping: done), at: clock.now(), width: width, note: note) else {
            return
        }
        writeError("\r\u{1B}[K\(line)")
        isDrawn = true
    }

    /// Removes the line. The next `show` draws it again.
    mutating func clear() {
        guard isDrawn else { return }
        writeError("\r\u{1B}[K")
        isDrawn = false
        text.forget()
    }
}
