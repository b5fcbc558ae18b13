/// An error or a warning about a configuration: where, what, and what to do next. Never holds a secret: the quoted
/// files hold none.
package struct Diagnostic: Sendable, Equatable, CustomStringConvertible {
    package enum Severity: String, Sendable {
        /// The configuration is rejected.
        case error
        /// The configuration is applied, but may not do what was meant.
        case warning
    }

    /// A second place, such as the first definition of a name.
    package struct Note: Sendable, Equatable {
        package var message: String
        package var place: Place

        package init(_ message: String, at place: Place) {
            self.message = message
            self.place = place
        }
    }

    package var severity: Severity
    package var place: Place
    package var message: String
    package var hint: String?
    package var note: Note?
    /// The cause is the machine, not the text: a file is missing or in the way. It may go away without a change of the
    /// configuration.
    package var isOfMachine = false

    package init(_ severity: Severity, at place: Place, _ message: String, hint: String? = nil, note: Note? = nil) {
        self.severity = severity
        self.place = place
        self.message = Self.harmless(message)
        self.hint = hint.map(Self.harmless)
        self.note = note
    }

    private static func harmless(_ text: String) -> String {
        var output = String.UnicodeScalarView()
        output.append(contentsOf: text.unicodeScalars.lazy.map(Place.harmless))
        return String(output)
    }

    /// `FILE:LINE:COLUMN: error: MESSAGE`, the line, a caret, the hint, and the second place. No line feed at the end.
    package var description: String {
        var lines = ["\(place.name): \(severity.rawValue): \(message)"]
        if let excerpt = place.excerpt { lines.append(excerpt) }
        if let hint { lines.append("hint: \(hint)") }
        if let note {
            lines.append("\(note.place.name): note: \(note.message)")
            if let excerpt = note.place.excerpt { lines.append(excerpt) }
        }
        return lines.joined(separator: "\n")
    }
}

/// Collects the diagnostics of all stages of reading, so that one error never hides another. One thread.
package final class Diagnostics {
    /// The most diagnostics of each severity. It keeps a garbage file from producing gigabytes of errors.
    package static let limit = 500

    /// All errors reported, including hidden and repeated ones.
    package private(set) var errorCount = 0
    private var found: [Diagnostic] = []
    private var counts: [Diagnostic.Severity: Int] = [:]
    /// For each severity above the limit: the place of the first hidden diagnostic.
    private var hidden: [Diagnostic.Severity: Place] = [:]

    package init() {}

    package var hasErrors: Bool { errorCount > 0 }

    /// In the order found, with a notice at the end if there are more.
    package var list: [Diagnostic] { found + more }

    package func error(
        at place: Place, _ message: String, hint: String? = nil, note: Diagnostic.Note? = nil, isOfMachine: Bool = false
    ) {
        errorCount += 1
        var error = Diagnostic(.error, at: place, message, hint: hint, note: note)
        error.isOfMachine = isOfMachine
        add(error)
    }

    package func warning(at place: Place, _ message: String, hint: String? = nil, note: Diagnostic.Note? = nil) {
        add(Diagnostic(.warning, at: place, message, hint: hint, note: note))
    }

    /// The places that have a diagnostic.
    package var places: Set<Place> { Set(found.map(\.place)) }

    private func add(_ diagnostic: Diagnostic) {
        // A node that several aliases name is read several times, but its error is reported once.
        guard hidden[diagnostic.severity] == nil, !found.contains(diagnostic) else { return }
        if counts[diagnostic.severity, default: 0] < Self.limit {
            counts[diagnostic.severity, default: 0] += 1
            found.append(diagnostic)
        } else {
            hidden[diagnostic.severity] = diagnostic.place
        }
    }

    private var more: [Diagnostic] {
        [.error, .warning].compactMap { severity in
            hidden[severity].map {
                Diagnostic(
                    severity, at: $0, "there are more \(severity.rawValue)s than the \(Self.limit) that are shown",
                    hint: "fix some of them and check again")
            }
        }
    }

    /// By file in the order of `paths`, then by line.
    package func ordered(by paths: [String]) -> [Diagnostic] { found.ordered(by: paths) + more }
}

extension [Diagnostic] {
    /// Sorts by file in the order of `paths`, then by line, since users fix errors from the top of a file down.
    package func ordered(by paths: [String]) -> [Diagnostic] {
        func key(_ diagnostic: Diagnostic) -> (Int, Int, Int) {
            (paths.firstIndex(of: diagnostic.place.file) ?? -1, diagnostic.place.line, diagnostic.place.column)
        }
        return enumerated()
            .sorted { a, b in key(a.element) == key(b.element) ? a.offset < b.offset : key(a.element) < key(b.element) }
            .map(\.element)
    }
}

/// A user's text for a message: quoted, on one line, of bounded length.
package func quoted(_ text: String) -> String {
    var shown = "\""
    for (number, scalar) in text.unicodeScalars.enumerated() {
        guard number < 80 else {
            shown += "…"
            break
        }
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        if isControl { shown += "\\u{\(String(scalar.value, radix: 16))}" } else { shown.unicodeScalars.append(scalar) }
    }
    return shown + "\""
}
