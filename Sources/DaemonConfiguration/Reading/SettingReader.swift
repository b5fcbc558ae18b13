import Events
import NameSuggestion
import Routing

/// Reads values by the shapes that Routing declares, such as the settings of transforms, which this room does not know.
/// It reports every error at its place.
struct SettingReader {
    let secrets: SecretStore?
    let diagnostics: Diagnostics
    /// The secrets that were read. A step that uses another secret is a different step.
    private(set) var used: [Secret] = []
    /// False once an error was reported.
    private(set) var isValid = true

    /// - Parameter secrets: nil: the directories of secrets are not known, and secrets are empty.
    init(_ secrets: SecretStore?, _ diagnostics: Diagnostics) {
        self.secrets = secrets
        self.diagnostics = diagnostics
    }

    /// - Parameter key: for messages.
    /// - Returns: nil if an error was reported; maps and records leave out entries with errors.
    mutating func read(_ node: YAMLNode, _ shape: SettingShape, _ key: String) -> SettingValue? {
        let value = node.scalar?.isReported == true ? nil : value(node, shape, key)
        if value == nil { isValid = false }
        return value
    }

    private mutating func value(_ node: YAMLNode, _ shape: SettingShape, _ key: String) -> SettingValue? {
        switch shape {
        case .flag: return Kind<Bool>.flag.read(node, key, diagnostics).map(SettingValue.flag)
        case .integer(let bounds): return Kind.integer(bounds).read(node, key, diagnostics).map(SettingValue.integer)
        case .size(let bounds): return Kind.size(bounds).read(node, key, diagnostics).map(SettingValue.integer)
        case .number(let bounds): return Kind.number(bounds).read(node, key, diagnostics).map(SettingValue.number)
        case .duration(let bounds): return Kind.duration(bounds).read(node, key, diagnostics).map(SettingValue.duration)
        case .choice(let names): return Kind.word(of: names).read(node, key, diagnostics).map(SettingValue.text)
        case .text(let what): return plainText(node, key, what, diagnostics).map(SettingValue.text)
        case .script(let language): return script(node, language, key)
        case .path: return path(node, key).map(SettingValue.path)
        case .filter: return Kind<Rules.Condition>.filter.read(node, key, diagnostics).map { .filter($0.filter) }
        case .template: return template(node).map(SettingValue.template)
        case .secret: return secret(node, key).map(SettingValue.secret)
        case .list(let item): return list(node, item, key)
        case .map(let keys, let value): return map(node, keys, value, key)
        case .record(let settings, let shorthand): return record(node, settings, shorthand, key)
        }
    }

    private func path(_ node: YAMLNode, _ key: String) -> FieldPath? {
        guard let text = plainText(node, key, "the path of a field", diagnostics) else { return nil }
        return path(text, at: node.place(of:))
    }

    private func path(_ text: String, at place: (FilterError) -> Place) -> FieldPath? {
        do throws(FilterError) {
            return try FieldPath(parsing: text)
        } catch {
            diagnostics.error(at: place(error), error.message, hint: error.hint)
            return nil
        }
    }

    private func script(_ node: YAMLNode, _ language: String, _ key: String) -> SettingValue? {
        guard let scalar = node.scalar, !scalar.isSecret, !scalar.isNull else {
            diagnostics.error(
                at: node.place, "\(quoted(key)) must be a text in \(language), not \(node.found)",
                hint: "write \(key): | and the text below it, indented")
            return nil
        }
        return .script(ScriptText(scalar.text, file: node.place.file, lines: ScalarPlaces.lines(of: node)))
    }

    private func template(_ node: YAMLNode) -> ValueTemplate? {
        guard JSONRendering.render(node, secretsAllowed: false, diagnostics) != nil else { return nil }
        guard let value = JSONRendering.value(node) else {
            diagnostics.error(
                at: node.place, "a number that is too large", hint: "put it in quotes if it is meant as text")
            return nil
        }
        do throws(TransformError) {
            return try ValueTemplate(value, keys: [])
        } catch {
            report(error, in: node)
            return nil
        }
    }

    private mutating func secret(_ node: YAMLNode, _ key: String) -> SecretText? {
        guard let scalar = node.scalar, scalar.isSecret else {
            diagnostics.error(
                at: node.place, "\(quoted(key)) must be a secret, not \(node.found)",
                hint: "write \(key): !secret NAME")
            return nil
        }
        guard let piece = SecretParsing.reference(scalar.text, at: node.place, .plain, diagnostics) else { return nil }
        guard let text = secrets?.resolve(SecretTemplate(pieces: [piece])) else { return SecretText("") }
        for case .secret(let secret) in text.pieces { used.append(secret) }
        return SecretText(text.revealed)
    }

    private mutating func list(_ node: YAMLNode, _ item: SettingShape, _ key: String) -> SettingValue? {
        guard case .list(let items) = node.content, !items.isEmpty else {
            diagnostics.error(
                at: node.place, "\(quoted(key)) must be a list with at least one item, not \(node.found)",
                hint: node.scalar.flatMap { $0.isNull ? nil : "write \(key): [\($0.text)]" })
            return nil
        }
        var values: [SettingValue] = []
        for node in items {
            if let value = read(node, item, key) { values.append(value) }
        }
        // Later errors refer to items by index, so the list must be complete.
        return values.count == items.count ? .list(values) : nil
    }

    private mutating func map(
        _ node: YAMLNode, _ keys: SettingShape.MapKeys, _ shape: SettingShape, _ key: String
    ) -> SettingValue? {
        let what =
            switch keys {
            case .paths: "paths of fields"
            case .text(let what): what
            }
        guard case .map(let entries) = node.content, !entries.isEmpty else {
            diagnostics.error(
                at: node.place, "\(quoted(key)) must be a map of \(what), each with a value, not \(node.found)",
                hint: node.isNull || node.entries != nil ? "write \(key): { … }, or remove it" : nil)
            return nil
        }
        var read: [SettingValue.MapEntry] = []
        for entry in entries {
            var path: FieldPath?
            if case .paths = keys {
                path = self.path(entry.key, at: { _ in entry.place })
                if path == nil { isValid = false }
            }
            let value = self.read(entry.value, shape, entry.key)
            guard let value, path != nil || !keys.arePaths else { continue }
            read.append(.init(key: entry.key, path: path, value: value))
        }
        return .map(read)
    }

    private mutating func record(
        _ node: YAMLNode, _ settings: [SettingDescription], _ shorthand: String?, _ key: String
    ) -> SettingValue? {
        if let shorthand, node.entries == nil, let setting = settings.first(where: { $0.name == shorthand }) {
            return read(node, setting.shape, key).map { .record([shorthand: $0]) }
        }
        let names = settings.map(\.name)
        guard let entries = node.entries else {
            diagnostics.error(
                at: node.place, "\(quoted(key)) must be a map, not \(node.found)",
                hint: "its keys are \(names.joined(separator: ", "))")
            return nil
        }
        var values: [String: SettingValue] = [:]
        for entry in entries {
            guard let setting = settings.first(where: { $0.name == entry.key }) else {
                diagnostics.error(
                    at: entry.place, "unknown key \(quoted(entry.key)) in \(quoted(key))",
                    hint: NearestName.find(entry.key, among: names).map { "did you mean \(quoted($0))?" }
                        ?? "the keys are \(names.joined(separator: ", "))")
                isValid = false
                continue
            }
            values[setting.name] = read(entry.value, setting.shape, setting.name)
        }
        for setting in settings where setting.isRequired && !entries.contains(where: { $0.key == setting.name }) {
            diagnostics.error(
                at: node.place, "\(quoted(key)) needs \(quoted(setting.name))",
                hint: "add \(setting.name): \(setting.summary)")
            isValid = false
        }
        return .record(values)
    }

    // MARK: Errors

    /// Reports an error that Routing found in a value, at the value's place.
    /// - Parameter shorthand: the key whose value may be written alone, without a map.
    func report(
        _ error: TransformError, as severity: Diagnostic.Severity = .error, in node: YAMLNode, shorthand: String? = nil
    ) {
        var error = error
        if let shorthand, node.entries == nil, error.keys.first == shorthand { error.keys.removeFirst() }
        let place = Self.place(of: error, in: node)
        switch severity {
        case .error: diagnostics.error(at: place, error.fault.message, hint: error.fault.hint)
        case .warning: diagnostics.warning(at: place, error.fault.message, hint: error.fault.hint)
        }
    }

    /// Follows the error's keys down the tree.
    static func place(of error: TransformError, in root: YAMLNode) -> Place {
        var node = root
        var keyPlace = root.place
        for key in error.keys {
            switch node.content {
            case .map(let entries):
                guard let entry = entries.first(where: { $0.key == key }) else { return node.place }
                (node, keyPlace) = (entry.value, entry.place)
            case .list(let items):
                guard let number = Int(key), items.indices.contains(number) else { return node.place }
                (node, keyPlace) = (items[number], items[number].place)
            case .scalar:
                return node.place
            }
        }
        return error.isKey ? keyPlace : node.place(of: error.fault)
    }
}

extension SettingShape.MapKeys {
    fileprivate var arePaths: Bool { if case .paths = self { true } else { false } }
}
