import ConfigurationSyntax
import Events
import Routing

/// The keys of a file destination.
extension Section where Target == DestinationDraft {
    static let file: [Field<DestinationDraft>] = [
        Field(
            "file", \.file, .destinationFile, required: true,
            "the path; strftime(3) conversions are replaced by the receive time; {{ properties.tenant }} is replaced by"
                + " that field of the output, encoded so that it cannot add a directory"),
        Field(
            "format", \.fileFormat, .choice,
            "the format: a line of JSON for each event, or a row of CSV below a header"),
        Field(
            "columns", \.columns, .columns, default: "none",
            "the columns of CSV by name; each value is written as in a mapping: $.event, \"{{ userId }}\", a "
                + "directive"),
        Field(
            "rotate",
            keys: Section([
                Field(
                    "size", \.rotateSize, .size((4 << 10)...(1 << 50)), default: "never",
                    "the size at which a new file is started"),
                Field(
                    "every", \.rotateEvery, .duration(.seconds(1)...days(366)), default: "never",
                    "how often a new file is started"),
            ]), "when to start a new file; the old one is renamed beside it"),
        Field(
            "keep",
            keys: Section([
                Field(
                    "files", \.keep.files, .integer(1...1_000_000), default: "all",
                    "the maximum number of old files; the newest are kept"),
                Field(
                    "time", \.keep.time, .duration(.seconds(1)...days(36_500)), default: "forever",
                    "the maximum time since the last write to a file"),
                Field(
                    "size", \.keep.size, .size((4 << 10)...(1 << 50)), default: "unlimited",
                    "the maximum size of all old files together"),
            ]),
            "the limits on this destination's old files; files beyond a limit are removed"),
        Field(
            "timezone", \.timezone, .timezone, default: "UTC",
            "the time zone of the strftime conversions in the path"),
        Field(
            "sync", \.fileSync, .sync, default: "journal.cursor_interval",
            "when files are made durable: before a batch counts as delivered (always), at intervals, or never; the"
                + " cursor advances only over durable events, so a power cut neither loses nor repeats events, except"
                + " with never; kill -9 never loses events"),
        Field(
            "open_files", \.openFiles, .integer(1...10_000),
            "the maximum number of open files, if the path contains values of events"),
        Field(
            "new_files", \.newFiles, .integer(1...10_000_000),
            "the maximum number of files that values of events may create in an hour; an event that would need another"
                + " new file is written to _overflow"),
    ]
}

/// `columns:` during reading.
struct ColumnsDraft: Sendable {
    var names: [String]
    /// An object with a member for each column.
    var mapping: MappingDraft
}

extension Kind where Value == ColumnsDraft {
    static var columns: Kind {
        Kind(.filled(.map(of: .mapping))) { node, key, diagnostics in
            guard let entries = node.entries, !entries.isEmpty else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map of names and values, not \(node.found)",
                    hint: "write columns: { time: $.timestamp, event: $.event }")
                return nil
            }
            if let entry = entries.first(where: { $0.key.isEmpty || $0.key.hasPrefix("$") }) {
                diagnostics.error(
                    at: entry.place, "\(quoted(entry.key)) cannot be the name of a column",
                    hint:
                        "write a name and then the value: "
                        + "event: \(entry.key.isEmpty ? "$.event" : "{ \(entry.key): … }")"
                )
                return nil
            }
            return Kind<MappingDraft>.mapping.read(node, key, diagnostics)
                .map { ColumnsDraft(names: entries.map(\.key), mapping: $0) }
        }
    }
}

extension Kind where Value == Configuration.File.Path {
    static var destinationFile: Kind {
        Kind(.text("a path"), show: \.text) { node, key, diagnostics in
            guard let text = plainText(node, key, "a path", diagnostics) else { return nil }
            guard !text.hasSuffix("/"), ![".", ".."].contains(text.split(separator: "/").last) else {
                diagnostics.error(at: node.place, "\(quoted(text)) is a directory", hint: "add the name of a file")
                return nil
            }
            guard checkConversions(text, node, diagnostics) else { return nil }
            if let advice = CompressionAdvice.advice(on: text) {
                diagnostics.warning(at: node.place, advice.message, hint: advice.hint)
            }
            let path = absolutePath(text, in: node.file.directory)
            do throws(FilterError) {
                _ = try TemplateText.parse(text)
                let pieces = try TemplateText.parse(path).compactMap(Configuration.File.Path.Piece.init)
                if pieces.contains(where: \.isSecret) {
                    diagnostics.error(
                        at: node.place, "a secret cannot be part of a path",
                        hint: "paths are shown in logs and directories")
                    return nil
                }
                return .init(text: path, pieces: pieces)
            } catch {
                diagnostics.error(at: node.place(of: error), error.message, hint: error.hint)
                return nil
            }
        }
    }

    /// Conversions of strftime(3) that suit a file name in any locale.
    private static var conversions: String { "YmdHMSyjUWVGguwaAbBeCDFIklpRTsZz%" }

    private static func checkConversions(_ text: String, _ node: YAMLNode, _ diagnostics: Diagnostics) -> Bool {
        let scalars = Array(text.unicodeScalars)
        var index = 0
        while index < scalars.count {
            guard scalars[index] == "%" else {
                index += 1
                continue
            }
            guard index + 1 < scalars.count, conversions.unicodeScalars.contains(scalars[index + 1]) else {
                diagnostics.error(
                    at: ScalarPlaces.place(of: index, length: 2, in: node), "a path cannot have this conversion",
                    hint: "use those of strftime(3), such as %Y-%m-%d; a percent sign is %%")
                return false
            }
            index += 2
        }
        return true
    }
}

extension Configuration.File.Path.Piece {
    fileprivate init?(_ piece: TemplateText.Piece) {
        switch piece {
        case .literal(let contents):
            guard let text = JSONText.string(contents.span) else { return nil }
            self = .text(text)
        case .path(let path): self = .value(path)
        }
    }

    fileprivate var isSecret: Bool {
        if case .value(let path) = self { path.segments.count > 1 && path.segments[0] == "secret" } else { false }
    }
}

/// Checks of a file destination that need all of its keys.
struct FileChecks {
    let located: Located<DestinationDraft>
    let diagnostics: Diagnostics

    func run() {
        let draft = located.draft
        if draft.fileFormat == .csv, draft.columns == nil, located.found["columns"] == nil {
            diagnostics.error(
                at: located.place(of: "format"), "CSV needs columns",
                hint: "add columns: { time: $.timestamp, event: $.event }")
        }
        if draft.fileFormat != .csv, draft.columns != nil {
            diagnostics.error(
                at: located.place(of: "columns"), "only CSV has columns", hint: "add format: csv, or use mapping:")
        }
        if draft.columns != nil, draft.mapping != nil {
            diagnostics.error(
                at: located.place(of: "mapping"), "columns already define the output",
                hint: "put the values into columns")
        }
        checkFields(draft)
        checkKeep(draft)
    }

    /// The values in a path come from the output.
    private func checkFields(_ draft: DestinationDraft) {
        let what = draft.columns == nil ? "the mapping" : "columns"
        guard case .object(let members) = (draft.columns?.mapping ?? draft.mapping)?.mapping.source,
            !members.contains(where: { $0.name.hasPrefix("$") })
        else { return }
        for case .value(let path) in draft.file.pieces where !members.contains(where: { $0.name == path.segments[0] }) {
            diagnostics.error(
                at: located.place(of: "file"),
                "the path has {{ \(path.segments.joined(separator: ".")) }},"
                    + " but \(what) do\(draft.columns == nil ? "es" : "") not write \(quoted(path.segments[0]))",
                hint: "a path takes its values from the output; add the field there")
        }
    }

    private func checkKeep(_ draft: DestinationDraft) {
        guard draft.keep != .init() else { return }
        if let keep = draft.keep.size, let size = draft.rotateSize, keep < size {
            diagnostics.error(
                at: located.place(of: "keep.size"),
                "keep.size (\(Quantity.text(keep))) is below one file of rotate.size (\(Quantity.text(size))): no file"
                    + " would be kept",
                hint: "make it a multiple of rotate.size")
        }
        let showsTime = draft.file.pieces.contains { piece in
            if case .text(let text) = piece { text.replacing("%%", with: "").contains("%") } else { false }
        }
        if !showsTime, draft.rotateSize == nil, draft.rotateEvery == nil {
            diagnostics.warning(
                at: located.place(of: "keep"),
                "no file is ever removed: without rotate: or a time in the path, there are no old files",
                hint: "add rotate: { size: 256MiB }, or %Y-%m-%d to the path")
        }
    }
}
