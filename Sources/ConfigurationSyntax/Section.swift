import NameSuggestion

/// One key: its name, type, default and meaning, declared once. `Target` receives its value.
package struct Field<Target: Sendable>: Sendable {
    package let name: String
    package let summary: String
    package let isRequired: Bool
    package let isSupported: Bool
    /// The default is the target's value before anything is read.
    package let describe: @Sendable (Target?) -> FieldDescription
    package let read: @Sendable (YAMLEntry, inout Target, Diagnostics) -> [String: YAMLEntry]

    package init<Value>(
        _ name: String, _ path: any WritableKeyPath<Target, Value> & Sendable, _ kind: Kind<Value>,
        required: Bool = false,
        _ summary: String
    ) {
        self.name = name
        self.summary = summary
        isRequired = required
        isSupported = true
        describe = { target in
            FieldDescription(
                name: name, type: kind.type,
                defaultText: required ? nil : target.flatMap { kind.show($0[keyPath: path]) },
                summary: summary, isRequired: required, isSupported: true)
        }
        read = { entry, target, diagnostics in
            if let value = kind.read(entry.value, name, diagnostics) { target[keyPath: path] = value }
            return [:]
        }
    }

    package init<Value>(
        _ name: String, _ path: any WritableKeyPath<Target, Value?> & Sendable, _ kind: Kind<Value>,
        default defaultText: String? = nil,
        _ summary: String
    ) {
        self.name = name
        self.summary = summary
        isRequired = false
        isSupported = true
        describe = { target in
            FieldDescription(
                name: name, type: kind.type,
                defaultText: defaultText ?? target.flatMap { $0[keyPath: path] }.flatMap { kind.show($0) },
                summary: summary, isRequired: false, isSupported: true)
        }
        read = { entry, target, diagnostics in
            if let value = kind.read(entry.value, name, diagnostics) { target[keyPath: path] = value }
            return [:]
        }
    }

    /// A map whose keys belong to the same target: `retain: { time, size }`.
    package init(_ name: String, keys section: Section<Target>, _ summary: String) {
        self.name = name
        self.summary = summary
        isRequired = false
        isSupported = true
        describe = { target in
            FieldDescription(
                name: name, type: .section(section.describe(target)), defaultText: nil, summary: summary,
                isRequired: false,
                isSupported: true)
        }
        read = { entry, target, diagnostics in
            let inner = section.read(entry.value, named: quoted(name), into: &target, diagnostics)
            return Dictionary(inner.map { ("\(name).\($0.key)", $0.value) }, uniquingKeysWith: { first, _ in first })
        }
    }

    private init(unsupported name: String, _ summary: String) {
        self.name = name
        self.summary = summary
        isRequired = false
        isSupported = false
        describe = { _ in
            FieldDescription(
                name: name, type: .unsupported, defaultText: nil, summary: summary, isRequired: false,
                isSupported: false)
        }
        read = { entry, _, diagnostics in
            diagnostics.error(
                at: entry.place, "\(quoted(name)) is not supported by this version",
                hint: "remove it; its purpose: \(summary)")
            return [:]
        }
    }

    /// A key of the contract that a later version will support. It is rejected, but not as unknown.
    package static func unsupported(_ name: String, _ summary: String) -> Field { Field(unsupported: name, summary) }
}

/// The keys of one map.
package struct Section<Target: Sendable>: Sendable {
    package let fields: [Field<Target>]

    package init(_ fields: [Field<Target>]) { self.fields = fields }

    package func describe(_ target: Target?) -> [FieldDescription] { fields.map { $0.describe(target) } }

    private var supported: String { fields.filter(\.isSupported).map(\.name).joined(separator: ", ") }

    /// Reads the keys that are given; the others keep the target's values.
    /// - Parameters:
    ///   - owner: for messages: `source "apps"`.
    ///   - elsewhere: explains a key that belongs elsewhere; nil: the key is unknown.
    /// - Returns: the place of each key, nested keys as `retain.size`.
    @discardableResult
    package func read(
        _ node: YAMLNode, named owner: String, into target: inout Target, _ diagnostics: Diagnostics,
        elsewhere: (String) -> String? = { _ in nil }
    ) -> [String: YAMLEntry] {
        if node.scalar?.isReported == true { return [:] }
        guard let entries = node.entries else {
            diagnostics.error(
                at: node.place, "\(owner) must be a map, not \(node.found)",
                hint: "its keys are \(supported)")
            return [:]
        }
        var found: [String: YAMLEntry] = [:]
        for entry in entries {
            if let field = fields.first(where: { $0.name == entry.key }) {
                let errors = diagnostics.errorCount
                let isReported = entry.value.scalar?.isReported == true
                let inner = isReported ? [:] : field.read(entry, &target, diagnostics)
                found[entry.key] = entry
                found[entry.key]?.isBroken = isReported || diagnostics.errorCount > errors
                found.merge(inner) { first, _ in first }
            } else if let reason = elsewhere(entry.key) {
                diagnostics.error(at: entry.place, reason)
            } else {
                diagnostics.error(
                    at: entry.place, "unknown key \(quoted(entry.key)) in \(owner)",
                    hint: NearestName.find(entry.key, among: fields.map(\.name)).map { "did you mean \(quoted($0))?" }
                        ?? "the keys are \(supported)")
            }
        }
        for field in fields where field.isRequired && found[field.name] == nil {
            diagnostics.error(
                at: node.place, "\(owner) needs \(quoted(field.name))", hint: "add \(field.name): \(field.summary)")
        }
        return found
    }
}

/// A draft read from the file, with the places for errors that show only once everything is read.
package struct Located<Draft: Sendable>: Sendable {
    package var name: String
    /// The place of the name.
    package var place: Place
    package var draft: Draft
    package var found: [String: YAMLEntry]

    package init(name: String, place: Place, draft: Draft, found: [String: YAMLEntry]) {
        self.name = name
        self.place = place
        self.draft = draft
        self.found = found
    }

    /// The place of a key's value, or of the whole section if the key is not given.
    package func place(of key: String) -> Place { found[key]?.value.place ?? place }
}

extension Kind {
    /// A map from user-defined names to sections.
    /// - Parameter section: the keys for a node, and explanations for other keys.
    package static func named<Draft: Sendable>(
        _ what: String, _ prototype: Draft, keys: Section<Draft>,
        section: @escaping @Sendable (YAMLNode) -> (Section<Draft>, @Sendable (String) -> String?)
    ) -> Kind where Value == [Located<Draft>] {
        Kind(.map(of: .section(keys.describe(prototype)))) { node, key, diagnostics in
            guard let entries = node.entries else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a map of names, not \(node.found)",
                    hint: "write the name of a \(what), a colon, and its keys below it")
                return nil
            }
            return entries.map { entry in
                if !isIdentifier(entry.key) {
                    diagnostics.error(
                        at: entry.place, "\(quoted(entry.key)) cannot be the name of a \(what)",
                        hint: "a name is a letter, then up to 63 letters, digits, \"_\" and \"-\"")
                }
                var draft = prototype
                let (section, elsewhere) = section(entry.value)
                var value = entry.value
                // An error about the section as a whole is shown at its name.
                if case .map = value.content { value.place = entry.place }
                let found = section.read(
                    value, named: "\(what) \(quoted(entry.key))", into: &draft, diagnostics, elsewhere: elsewhere)
                return Located(name: entry.key, place: entry.place, draft: draft, found: found)
            }
        }
    }
}

/// Whether the text can name a source or destination. Such names become part of file names, metrics and systemd's
/// descriptor names.
package func isIdentifier(_ name: String) -> Bool {
    guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 64 else { return false }
    return name.utf8.allSatisfy { byte in
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-")
    }
}

private func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
}
