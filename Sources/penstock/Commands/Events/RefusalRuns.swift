import Platform

/// Merges refusals for printing: consecutive lines that are refused for the same reason become one line of text. A
/// daemon with a full disk refuses every line of a file, and a million equal messages would be useless.
struct RefusalRuns {
    private struct Run {
        var first: UInt64
        var last: UInt64
        var reason: String
        var detail: String
    }

    private var current: Run?

    /// - Returns: the text of the run that this refusal ends, to be printed now; nil if it continues the run.
    mutating func add(line: UInt64, reason: String, detail: String) -> String? {
        if var run = current, line == run.last &+ 1, reason == run.reason, detail == run.detail {
            run.last = line
            current = run
            return nil
        }
        let ended = end()
        current = Run(first: line, last: line, reason: reason, detail: detail)
        return ended
    }

    /// - Returns: the text of the current run, which has not been printed yet.
    mutating func end() -> String? {
        guard let run = current else { return nil }
        current = nil
        let lines =
            run.first == run.last
            ? "line \(run.first)" : "lines \(run.first) to \(run.last) (\(run.last - run.first + 1) refusals)"
        return "\(lines): \(run.reason): \(run.detail.withControlCharactersEscaped)"
    }
}
