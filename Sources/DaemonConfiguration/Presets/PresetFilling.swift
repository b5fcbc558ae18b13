import ConfigurationSyntax
import Events
import NameSuggestion
import Routing

/// A preset's settings as one user gives them, and the preset's keys with the settings filled in. `{{ setting.NAME }}`
/// on its own becomes the setting's node; inside a text it becomes the setting's text.
struct PresetFilling {
    let preset: Preset
    let diagnostics: Diagnostics
    /// nil: not given, and without a default.
    private var values: [String: YAMLNode?] = [:]
    /// Settings that the user gave. An error in a text that contains one is shown at the user's value.
    private var given: Set<String> = []
    /// Settings that are missing or invalid and have no substitute.
    private var unknown: Set<String> = []

    init(preset: Preset, diagnostics: Diagnostics) {
        self.preset = preset
        self.diagnostics = diagnostics
    }

    /// Checks the user's settings.
    /// - Parameter destination: the user's.
    mutating func take(_ settings: [Located<PresetSettingDraft>], from entries: [YAMLEntry], of destination: YAMLEntry)
    {
        for setting in settings {
            if let entry = entries.first(where: { $0.key == setting.name }) {
                values[setting.name] = .some(value(entry, setting.draft) ?? substitute(setting, entry.value))
                given.insert(setting.name)
            } else if setting.draft.defaultText != nil, let place = setting.found["default"]?.value {
                let entry = YAMLEntry(key: setting.name, place: place.place, value: place)
                values[setting.name] = .some(value(entry, setting.draft) ?? substitute(setting, place))
            } else {
                values[setting.name] = .some(nil)
                if setting.draft.isRequired {
                    values[setting.name] = .some(substitute(setting, destination.value))
                    diagnostics.error(
                        at: destination.place, "the preset \(quoted(preset.name)) needs \(quoted(setting.name))",
                        hint:
                            "add \(setting.name): \(setting.draft.isSecret ? "!secret NAME" : "…") "
                            + "(\(setting.draft.summary))"
                    )
                }
            }
        }
    }

    /// A substitute for an invalid setting, so that further errors are found too.
    private mutating func substitute(_ setting: Located<PresetSettingDraft>, _ node: YAMLNode) -> YAMLNode {
        var node = node
        let text = setting.draft.values.first?.meaning ?? setting.draft.defaultText
        if text == nil || setting.draft.isSecret { unknown.insert(setting.name) }
        node.content = .scalar(
            YAMLScalar(text: text ?? "setting", style: .plain, line: node.place.line, column: node.place.column))
        return node
    }

    /// Whether the node contains an unknown setting, so that its result cannot be checked.
    func isUnknown(_ node: YAMLNode) -> Bool {
        guard !unknown.isEmpty else { return false }
        switch node.content {
        case .map(let entries): return entries.contains { isUnknown($0.value) || isUnknown($0.key) }
        case .list(let items): return items.contains(where: isUnknown)
        case .scalar(let scalar): return isUnknown(scalar.text)
        }
    }

    private func isUnknown(_ text: String) -> Bool {
        text.contains("{{")
            && Self.pieces(text).contains { if case .setting(let name) = $0 { unknown.contains(name) } else { false } }
    }

    /// nil if an error was reported.
    private func value(_ entry: YAMLEntry, _ setting: PresetSettingDraft) -> YAMLNode? {
        if setting.isSecret {
            guard let scalar = entry.value.scalar, scalar.isSecret else {
                diagnostics.error(
                    at: entry.value.place, "\(quoted(entry.key)) must be a secret, not \(entry.value.found)",
                    hint: "write \(entry.key): !secret NAME; the configuration must not contain the secret itself")
                return nil
            }
            return entry.value
        }
        if entry.value.scalar?.isSecret == true { return entry.value }
        guard let text = plainText(entry.value, entry.key, setting.summary, diagnostics) else { return nil }
        if !setting.values.isEmpty, !setting.values.contains(where: { $0.name == text }) {
            let names = setting.values.map(\.name)
            diagnostics.error(
                at: entry.value.place, "\(quoted(entry.key)) must be one of \(names.joined(separator: ", "))",
                hint: NearestName.find(text, among: names).map { "did you mean \(quoted($0))?" })
            return nil
        }
        if let pattern = setting.pattern, !pattern.matches(text) {
            diagnostics.error(
                at: entry.value.place, "\(quoted(entry.key)) must match \(pattern.text)", hint: setting.summary)
            return nil
        }
        return meaning(text, setting, entry.value)
    }

    private func meaning(_ text: String, _ setting: PresetSettingDraft, _ node: YAMLNode) -> YAMLNode {
        guard let value = setting.values.first(where: { $0.name == text }), value.meaning != text,
            case .scalar(var scalar) = node.content
        else { return node }
        scalar.text = value.meaning
        var node = node
        node.content = .scalar(scalar)
        return node
    }

    /// Keys whose members are left out if they need a setting that is not given. The service would reject a header such
    /// as `Bearer `.
    private static let partial: Set<String> = ["headers", "body", "mapping", "columns", "settings", "sign", "auth"]

    /// Fills in a user's key beside the preset. A setting that is not given becomes an empty value.
    func fill(_ entry: YAMLEntry) -> YAMLEntry {
        var entry = entry
        if let filled = fill(
            entry.value, isPartial: entry.value.scalar == nil && Self.partial.contains(entry.key), isOwn: true)
        {
            entry.value = filled
        } else {
            entry.value.content = .scalar(
                YAMLScalar(text: "", style: .plain, line: entry.value.place.line, column: entry.value.place.column))
        }
        return entry
    }

    /// - Parameters:
    ///   - isPartial: the node is inside one of `partial`.
    ///   - isOwn: the user wrote it, so leaving it out is reported.
    /// - Returns: nil: the node is, or needs, a setting that is not given.
    func fill(_ node: YAMLNode, isPartial: Bool = false, isOwn: Bool = false) -> YAMLNode? {
        var node = node
        switch node.content {
        case .map(let entries):
            node.content = .map(
                entries.compactMap { entry in
                    let isPartial = isPartial || entry.value.scalar == nil && Self.partial.contains(entry.key)
                    return fill(entry.value, isPartial: isPartial, isOwn: isOwn)
                        .map { YAMLEntry(key: text(entry.key, at: entry.place), place: entry.place, value: $0) }
                })
        case .list(let items): node.content = .list(items.compactMap { fill($0, isPartial: isPartial, isOwn: isOwn) })
        case .scalar(var scalar):
            guard !scalar.isSecret, scalar.text.contains("{{") else { return node }
            let pieces = Self.pieces(scalar.text)
            if isPartial, let absent = absentSetting(in: pieces) {
                if isOwn {
                    diagnostics.warning(
                        at: node.place, "the setting \(quoted(absent)) is not given, so this is left out",
                        hint: "add \(absent): …, or remove this")
                }
                return nil
            }
            if pieces.count == 1, case .setting(let name) = pieces[0] { return setting(name, at: node.place) }
            var place: YAMLNode?
            scalar.text = pieces.reduce(into: "") { text, piece in
                switch piece {
                case .text(let literal): text += literal
                case .setting(let name):
                    guard let found = setting(name, at: node.place), let value = found.scalar else { return }
                    if place == nil, given.contains(name) { place = found }
                    text += value.isSecret ? "{{ secret.\(value.text) }}" : value.text
                }
            }
            if let place {
                (node.place, node.file) = (place.place, place.file)
                (scalar.line, scalar.column) = (place.place.line, place.place.column)
            }
            node.content = .scalar(scalar)
        }
        return node
    }

    /// The first setting that is declared but has neither a value nor a default.
    private func absentSetting(in pieces: [Piece]) -> String? {
        for case .setting(let name) in pieces {
            if case .some(.none) = values[name] { return name }
        }
        return nil
    }

    /// Fills in a key that contains settings. Secrets cannot be part of a key.
    private func text(_ key: String, at place: Place) -> String {
        guard key.contains("{{") else { return key }
        return Self.pieces(key).reduce(into: "") { text, piece in
            switch piece {
            case .text(let literal): text += literal
            case .setting(let name):
                text += setting(name, at: place)?.scalar.flatMap { $0.isSecret ? nil : $0.text } ?? ""
            }
        }
    }

    private func setting(_ name: String, at place: Place) -> YAMLNode? {
        guard let value = values[name] else {
            diagnostics.error(
                at: place, "the preset has no setting \(quoted(name))",
                hint: NearestName.find(name, among: preset.settings.map(\.name)).map { "did you mean \(quoted($0))?" }
                    ?? "its settings are declared below settings: "
                    + "\(preset.settings.map(\.name).joined(separator: ", "))"
            )
            return nil
        }
        return value
    }

    private enum Piece {
        case text(String)
        case setting(String)
    }

    /// Any other `{{ … }}` is text.
    private static func pieces(_ text: String) -> [Piece] {
        var pieces: [Piece] = []
        var literal = ""
        var rest = text[...]
        while let open = rest.firstRange(of: "{{"), let close = rest[open.upperBound...].firstRange(of: "}}") {
            let inner = rest[open.upperBound..<close.lowerBound].filter { $0 != " " }
            literal += rest[..<open.lowerBound]
            if inner.hasPrefix("setting.") {
                if !literal.isEmpty { pieces.append(.text(literal)) }
                literal = ""
                pieces.append(.setting(String(inner.dropFirst("setting.".count))))
            } else {
                literal += rest[open.lowerBound..<close.upperBound]
            }
            rest = rest[close.upperBound...]
        }
        literal += rest
        if !literal.isEmpty { pieces.append(.text(literal)) }
        return pieces
    }
}
