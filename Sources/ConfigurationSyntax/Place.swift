/// A range within one line of a file, which a diagnostic points at. It holds the line itself, so that an error can be
/// shown after the file has changed.
package struct Place: Sendable, Hashable {
    package var file: String
    /// From 1.
    package var line: Int
    /// From 1, in Unicode scalars, as editors and libyaml count.
    package var column: Int
    /// The number of scalars in the range; at least 1.
    package var length: Int
    /// The whole line, without its end; empty if the file could not be read.
    package var text: String

    package init(file: String, line: Int = 1, column: Int = 1, length: Int = 1, text: String = "") {
        self.file = file
        self.line = line
        self.column = column
        self.length = max(1, length)
        self.text = text
    }

    /// `FILE:LINE:COLUMN`
    package var name: String { "\(file):\(line):\(column)" }

    /// The line, and below it a line that marks the range. A very long line is cut to the part around the range.
    package var excerpt: String? {
        guard !text.isEmpty else { return nil }
        let scalars = text.unicodeScalars.map(Self.harmless)
        let start = min(column - 1, scalars.count)
        let first = start > Self.widest / 2 ? start - Self.widest / 2 : 0
        let last = min(scalars.count, first + Self.widest)
        let shown = scalars[first..<last]
        var under = String.UnicodeScalarView()
        // Keep tabs, so that the marks align at any tab width.
        for scalar in scalars[first..<start] { under.append(scalar == "\t" ? "\t" : " ") }
        under.append("^")
        // Marks end at the end of the shown line.
        let marks = min(length - 1, max(0, last - start - 1))
        under.append(contentsOf: repeatElement("~", count: marks))
        var line = String.UnicodeScalarView()
        line.append(contentsOf: shown)
        let (before, after) = (first > 0 ? "…" : "", last < scalars.count ? "…" : "")
        return before + String(line) + after + "\n" + (before.isEmpty ? "" : " ") + String(under)
    }

    /// This place with only the key of its line shown, for a value that must not reach a log.
    package func concealed(from key: Place? = nil) -> Place {
        let line = Array(text.unicodeScalars)
        let end = min(column - 1, line.count)
        // The text before the key may hold another such value.
        let start =
            key.flatMap { $0.line == self.line && $0.file == file ? $0.column - 1 : nil }.map { min($0, end) } ?? end
        var shown = String.UnicodeScalarView()
        shown.append(contentsOf: repeatElement(" ", count: start))
        shown.append(contentsOf: line[start..<end])
        shown.append(contentsOf: "***".unicodeScalars)
        return Place(file: file, line: self.line, column: column, length: 3, text: String(shown))
    }

    private static let widest = 160

    /// Replaces control characters: they must not reach the terminal that shows the error.
    package static func harmless(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        return isControl && scalar != "\t" ? "\u{FFFD}" : scalar
    }
}
