// ConfigurationLanguage: the language that Penstock's files are written in (the configuration, its
// tests, a tracking plan), whatever they say: YAML with a place for every value, keys that are
// declared once, and everything that is wrong told at once, with file, line, column and a hint.
//
// - A key is declared once (`Field`): its name, type, bounds, default and meaning. Parsing, "did you
//   mean", and whatever describes a file come from that one declaration.
// - Input is bounded: size of a file, depth, what aliases expand to, the number of diagnostics. No
//   input traps.
//
// It needs Yams and nothing else of Penstock's, since the generator of code from a tracking plan is built
// with every application that uses it. It reads files; it writes none, and knows no event.

/// A stretch of one line of one file: what a diagnostic points at. It carries the line itself, so
/// that an error can be shown long after the file was read (and perhaps changed).
package struct Place: Sendable, Hashable {
    package var file: String
    /// From 1.
    package var line: Int
    /// From 1, in Unicode scalars, as editors and libyaml count.
    package var column: Int
    /// Scalars that are meant; at least 1.
    package var length: Int
    /// The whole line, without its end; empty where the file could not be read.
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

    /// The line and a line that marks the place below it. A very long line is cut down to the
    /// neighbourhood of the place.
    package var excerpt: String? {
        guard !text.isEmpty else { return nil }
        let scalars = text.unicodeScalars.map(Self.harmless)
        let start = min(column - 1, scalars.count)
        let first = start > Self.widest / 2 ? start - Self.widest / 2 : 0
        let last = min(scalars.count, first + Self.widest)
        let shown = scalars[first..<last]
        var under = String.UnicodeScalarView()
        // Tabs stay tabs, so that the marks stand below what they mean at any tab width.
        for scalar in scalars[first..<start] { under.append(scalar == "\t" ? "\t" : " ") }
        under.append("^")
        // What is left of the line behind the caret is all that can be marked.
        let marks = min(length - 1, max(0, last - start - 1))
        under.append(contentsOf: repeatElement("~", count: marks))
        var line = String.UnicodeScalarView()
        line.append(contentsOf: shown)
        let (before, after) = (first > 0 ? "…" : "", last < scalars.count ? "…" : "")
        return before + String(line) + after + "\n" + (before.isEmpty ? "" : " ") + String(under)
    }

    /// The same place with nothing of its line shown but the key, for a value that must not reach a log.
    package func concealed(from key: Place? = nil) -> Place {
        let line = Array(text.unicodeScalars)
        let end = min(column - 1, line.count)
        // What stands before the key may be another such value.
        let start = key.flatMap { $0.line == self.line && $0.file == file ? $0.column - 1 : nil }.map { min($0, end) } ?? end
        var shown = String.UnicodeScalarView()
        shown.append(contentsOf: repeatElement(" ", count: start))
        shown.append(contentsOf: line[start..<end])
        shown.append(contentsOf: "***".unicodeScalars)
        return Place(file: file, line: self.line, column: column, length: 3, text: String(shown))
    }

    private static let widest = 160

    /// A control character in a file must not reach the terminal of whoever reads the error.
    package static func harmless(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        return isControl && scalar != "\t" ? "\u{FFFD}" : scalar
    }
}
