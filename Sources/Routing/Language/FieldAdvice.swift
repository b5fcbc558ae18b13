import Events
import NameSuggestion

/// Finds paths whose root is not a field of an event. Such a path is always missing: a comparison with it never holds,
/// and a mapping leaves out its member.
///
/// A root that is written with a backslash (`\region`) is intended, whatever its name is.
package struct FieldAdvice: Sendable {
    /// What is read at `context.penstock`.
    package enum Sender: Sendable {
        /// The sender, as the journal stores it.
        case stored
        /// Nothing: the event is not stored yet (`scrub`).
        case unknown
        /// The bytes of the event as the destination gets it, where a client may have written any sender.
        case written
    }

    package var names: EventFieldNames
    package var sender = Sender.stored

    package init(_ names: EventFieldNames = EventFieldNames()) { self.names = names }

    // MARK: Filters

    /// - Parameter text: a filter. If it does not parse, the result is empty.
    package func filter(_ text: String) -> [FilterError] {
        guard let mentions = try? FilterParser.mentions(in: text) else { return [] }
        return mentions.compactMap { mention in
            switch mention {
            case .field(let field): self.field(field)
            case .type(let name, let range): type(name, range)
            }
        }.sorted { $0.column < $1.column }
    }

    private func field(_ mention: FilterMention.Field) -> FilterError? {
        guard !mention.isEscaped, let root = mention.path.segments.first else { return nil }
        if let advice = sender(mention.path, mention.range, prefix: "") { return advice }
        if names.knows(root) { return nil }
        // A word without quotes where a string is expected.
        let isText = mention.use == .text || mention.use == .besideField && names.nearest(root) == nil
        let advice = isText && mention.path.segments.count == 1 ? "did you mean \"\(root)\"? put text in quotes" : nil
        return error(mention.path, mention.range, prefix: "", advice: advice)
    }

    private func type(_ name: String, _ range: Range<Int>) -> FilterError? {
        let kinds = EventKind.allCases.map(\.name)
        guard !kinds.contains(name) else { return nil }
        let nearest = NearestName.find(name, among: kinds)
        return FilterError(
            range, "no event has the type \"\(name)\"",
            hint: nearest.map { "did you mean \"\($0)\"?" } ?? "the types are \(kinds.joined(separator: ", "))")
    }

    // MARK: Paths and texts

    /// - Parameter isWritten: the configuration sets this field. A new name is then intended, unless it is close to a
    ///   known one.
    package func path(_ text: String, isWritten: Bool = false) -> FilterError? {
        guard let path = try? FieldPath(parsing: text) else { return nil }
        return self.path(path, in: Array(text.utf8), 0..<text.utf8.count, prefix: "", isWritten: isWritten)
    }

    /// Advice for a value of a mapping or for the template of a transform: `$.path`, or text with `{{ path }}` in it.
    /// - Parameter secrets: whether `{{ secret.NAME }}` is allowed there.
    package func value(_ text: String, secrets: Bool) -> [FilterError] {
        if text.hasPrefix("$.") {
            guard let path = try? FieldPath(parsing: String(text.dropFirst(2))) else { return [] }
            let bytes = Array(text.utf8)
            if path.segments.count > 1, path.segments[0] == "secret" {
                return [secretPath(path, 0..<bytes.count, secrets)]
            }
            return self.path(path, in: bytes, 2..<bytes.count, prefix: "$.").map { [$0] } ?? []
        }
        if let slip = slip(text) { return [slip] }
        return template(text, secrets: secrets)
    }

    /// Advice for a text with `{{ path }}` in it.
    package func template(_ text: String, secrets: Bool) -> [FilterError] {
        guard let places = try? TemplateText.paths(in: text) else { return [] }
        let bytes = Array(text.utf8)
        return places.compactMap { path, range in
            if path.segments.count > 1, path.segments[0] == "secret" {
                return secrets ? nil : secretPath(path, range, secrets)
            }
            return self.path(path, in: bytes, range, prefix: "")
        }
    }

    /// Advice for `$properties.plan`, which is literal text: a path starts with `$.`.
    func slip(_ text: String) -> FilterError? {
        guard text.hasPrefix("$"), let path = try? FieldPath(parsing: String(text.dropFirst())),
            path.segments.count > 1,
            EventFieldNames().knows(path.segments[0])
        else { return nil }
        return FilterError(
            0..<text.utf8.count, "this is a constant text; a path begins with \"$.\"",
            hint: "did you mean $.\(path)?")
    }

    private func secretPath(_ path: FieldPath, _ range: Range<Int>, _ secrets: Bool) -> FilterError {
        FilterError(
            range, "a secret is not filled in here, so this is always missing",
            hint: secrets
                ? "write \"{{ \(path) }}\""
                : "secrets are allowed in URLs, in header values, in mappings and in a plugin's settings")
    }

    private func path(_ path: FieldPath, in text: [UInt8], _ range: Range<Int>, prefix: String, isWritten: Bool = false)
        -> FilterError?
    {
        guard text[range.lowerBound] != UInt8(ascii: "\\") else { return nil }
        if !isWritten, let advice = sender(path, range, prefix: prefix) { return advice }
        if names.knows(path.segments[0]) { return nil }
        if isWritten, names.nearest(path.segments[0]) == nil { return nil }
        return error(path, range, prefix: prefix, advice: advice(path))
    }

    /// Advice for a path in `context.penstock` that is always missing.
    private func sender(_ path: FieldPath, _ range: Range<Int>, prefix: String) -> FilterError? {
        guard let field = OriginField(path) else { return nil }
        switch sender {
        case .stored: break
        case .unknown:
            return FilterError(
                range, "\(OriginField.root) is not known before an event is stored, so this is always missing",
                hint: "use a transform of the pipeline, a route or a destination")
        case .written:
            return FilterError(
                range, "this is read from the event's own bytes, where a client can write any \(OriginField.root)",
                hint: "write it with a transform, set: { \(OriginField.root): $.\(OriginField.root) }, "
                    + "and here \(prefix)\\\(path)")
        }
        guard case .unknown = field else { return nil }
        let name = path.segments.dropFirst(OriginField.root.segments.count).joined(separator: ".")
        let nearest = NearestName.find(name, among: OriginField.names)
        return FilterError(
            range, "\(OriginField.root) has no such field, so this is always missing",
            hint: nearest.map { "did you mean \(prefix)\(OriginField.root).\($0)?" }
                ?? "its fields are \(OriginField.names.joined(separator: ", "))")
    }

    /// Hints for roots that other systems have.
    private func advice(_ path: FieldPath) -> String? {
        let rest = path.segments.dropFirst().joined(separator: ".")
        return switch path.segments[0] {
        case "secrets" where !rest.isEmpty: "did you mean {{ secret.\(rest) }}?"
        case "secret", "secrets": "a secret is written {{ secret.NAME }}"
        case "env", "ENV": "environment variables are not read; a secret is written {{ secret.NAME }}"
        default: nil
        }
    }

    private func error(_ path: FieldPath, _ range: Range<Int>, prefix: String, advice: String?) -> FilterError {
        let root = path.segments[0]
        let shown = FieldPath([root]).description
        let guess = names.nearest(root).map { "did you mean \(prefix)\(FieldPath([$0] + path.segments.dropFirst()))?" }
        let usual = "put your own fields in properties, traits or context: \(prefix)properties.\(path)"
        let hint = advice ?? guess ?? usual
        return FilterError(
            range, "events have no field \(shown), so this is always missing",
            hint: "\(hint)\(hint.hasSuffix("?") ? "" : ";") if your events have that field, write \(prefix)\\\(path)")
    }
}
