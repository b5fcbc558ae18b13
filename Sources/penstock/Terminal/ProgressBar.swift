import Platform

/// A progress bar on stderr. It is shown only if stderr is a terminal.
struct ProgressBar {
    private let total: Int?
    private let isShown: Bool
    private var lastPercent = -1

    /// - Parameter total: the amount of work, in the unit of `done`; nil if it is unknown: then only the note is shown.
    init(total: Int?) {
        self.total = total
        isShown = StandardStream.error.isTerminal
    }

    mutating func show(done: Int, note: String) {
        guard isShown else { return }
        guard let total, total > 0 else {
            return writeError("\r\u{1B}[K\(note)")
        }
        let percent = min(100, Int(Double(done) / Double(total) * 100))
        guard percent != lastPercent else { return }
        lastPercent = percent
        let filled = percent * 30 / 100
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
        writeError("\r\u{1B}[K[\(bar)] \(percent) %  \(note)")
    }

    func clear() {
        if isShown { writeError("\r\u{1B}[K") }
    }
}
