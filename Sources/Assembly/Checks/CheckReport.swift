import DaemonConfiguration

/// The result of `penstock check`: all errors and warnings, a summary of the configuration, and the files read.
package struct CheckReport: Sendable {
    /// The contents of a valid configuration.
    package struct Summary: Sendable, Encodable, CustomStringConvertible {
        var sources: Int
        var routes: Int
        var destinations: Int

        package var description: String {
            [
                CheckReport.count(sources, "source"), CheckReport.count(routes, "route"),
                CheckReport.count(destinations, "destination"),
            ]
            .joined(separator: ", ")
        }
    }

    /// As given.
    package let file: String
    /// Errors and warnings, by file in the order read, then by line.
    package let diagnostics: [Diagnostic]
    /// nil: the configuration has errors.
    package let summary: Summary?
    package let files: [String]
    /// Files of conf.d that were not read, and why.
    package let unread: [(path: String, reason: String)]

    init(_ loaded: LoadResult, of file: String) {
        self.file = file
        diagnostics = loaded.diagnostics
        summary = loaded.configuration.map {
            Summary(sources: $0.sources.count, routes: $0.routes.count, destinations: $0.destinations.count)
        }
        files = loaded.files
        unread = loaded.unread
    }

    package var isValid: Bool { summary != nil }
    package var warnings: Int { diagnostics.count { $0.severity == .warning } }
    package var errors: Int { diagnostics.count - warnings }

    /// "1 error, 2 warnings". Counts of zero are left out.
    package var counts: String {
        [(errors, "error"), (warnings, "warning")].filter { $0.0 > 0 }.map { Self.count($0.0, $0.1) }.joined(
            separator: ", ")
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

/// The output of `penstock check --json`.
extension CheckReport: Encodable {
    private struct UnreadFile: Encodable {
        var file: String
        var reason: String
    }

    private struct Finding: Encodable {
        struct Note: Encodable {
            var file: String
            var line: Int
            var column: Int
            var message: String
        }

        var severity: String
        var file: String
        var line: Int
        var column: Int
        var length: Int
        var message: String
        var hint: String?
        var note: Note?

        init(_ diagnostic: Diagnostic) {
            severity = diagnostic.severity.rawValue
            (file, line, column) = (diagnostic.place.file, diagnostic.place.line, diagnostic.place.column)
            length = diagnostic.place.length
            message = diagnostic.message
            hint = diagnostic.hint
            note = diagnostic.note.map {
                Note(file: $0.place.file, line: $0.place.line, column: $0.place.column, message: $0.message)
            }
        }
    }

    private enum Key: String, CodingKey {
        case file, valid, errors, warnings, summary, files, unread, diagnostics
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(file, forKey: .file)
        try container.encode(isValid, forKey: .valid)
        try container.encode(errors, forKey: .errors)
        try container.encode(warnings, forKey: .warnings)
        try container.encodeIfPresent(summary, forKey: .summary)
        try container.encode(files, forKey: .files)
        try container.encode(unread.map { UnreadFile(file: $0.path, reason: $0.reason) }, forKey: .unread)
        try container.encode(diagnostics.map(Finding.init), forKey: .diagnostics)
    }
}
