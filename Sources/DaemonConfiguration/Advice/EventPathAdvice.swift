import Events
import Routing

/// Warns about paths that name no field of an event, wherever a configuration has paths: in filters, transforms,
/// mappings, headers and URLs. Such a path is valid text, so this check runs over the whole configuration once it is
/// read, when every name that a transform writes is known.
struct EventPathAdvice {
    private let diagnostics: Diagnostics
    private var fields = FieldAdvice()

    init(_ diagnostics: Diagnostics) { self.diagnostics = diagnostics }

    /// - Parameter root: the merged configuration, with presets expanded.
    mutating func run(_ root: YAMLNode) {
        for step in Self.steps(in: root, key: nil) { learn(step) }
        for section in root.entries ?? [] {
            switch section.key {
            case "pipeline": section.value.items?.forEach(step)
            case "routes": section.value.items?.forEach { rules($0) }
            case "sources": section.value.entries?.forEach { rules($0.value) }
            case "destinations": section.value.entries?.forEach { destination($0.value) }
            default: break
            }
        }
    }

    // MARK: Names that the configuration writes

    private static let lists: Set<String> = ["pipeline", "transforms", "scrub"]

    /// Every transform in the configuration.
    private static func steps(in node: YAMLNode, key: String?) -> [YAMLNode] {
        switch node.content {
        case .scalar: return []
        case .map(let entries): return entries.flatMap { steps(in: $0.value, key: $0.key) }
        case .list(let items):
            return key.map(lists.contains) == true ? items : items.flatMap { steps(in: $0, key: nil) }
        }
    }

    private mutating func learn(_ step: YAMLNode) {
        for entry in step.entries ?? [] {
            switch entry.key {
            case "set": learn(keysOf: entry.value)
            case "copy", "move":
                for target in entry.value.entries ?? [] { learn(target.value.scalar?.text) }
            case "rename":
                // Only a top-level field gets a new top-level name.
                for field in entry.value.entries ?? [] where !field.key.contains(".") {
                    learn(field.value.scalar?.text)
                }
            case "enrich":
                for setting in entry.value.entries ?? [] {
                    if setting.key == "values" {
                        learn(keysOf: setting.value)
                    } else {
                        learn(setting.value.scalar?.text)
                    }
                }
            case "lua":
                let script = entry.value.scalar ?? entry.value.entries?.first { $0.key == "script" }?.value.scalar
                fields.names.insert(wordsOf: script?.text ?? "")
            default: break
            }
        }
    }

    private mutating func learn(keysOf node: YAMLNode) {
        for entry in node.entries ?? [] { learn(entry.key) }
    }

    private mutating func learn(_ path: String?) {
        if let path = path.flatMap({ try? FieldPath(parsing: $0) }) { fields.names.insert(path.segments[0]) }
    }

    // MARK: Places of paths

    /// The keys of a route or a source.
    private func rules(_ node: YAMLNode) {
        for entry in node.entries ?? [] {
            switch entry.key {
            case "where": filter(entry.value)
            case "transforms": entry.value.items?.forEach(step)
            case "scrub":
                var scrubbing = self
                scrubbing.fields.sender = .unknown
                entry.value.items?.forEach(scrubbing.step)
            default: break
            }
        }
    }

    /// The keys of a destination, or of one of its requests.
    private func destination(_ node: YAMLNode) {
        rules(node)
        let entries = node.entries ?? []
        for entry in entries {
            switch entry.key {
            case "mapping", "columns": mapping(entry.value)
            case "body": mapping(entry.value, aroundEvents: true)
            case "headers": entry.value.entries?.forEach { template($0.value) }
            case "http": template(entry.value)
            // With a mapping, a file's path takes its values from the mapping's output.
            case "file" where !entries.contains(where: { $0.key == "mapping" || $0.key == "columns" }):
                var writing = self
                writing.fields.sender = .written
                writing.template(entry.value)
            case "session", "timed":
                if let shape = TransformCatalogue.declaration(of: entry.key)?.shape {
                    setting(entry.value, shape, of: entry.key)
                }
            case "requests": entry.value.items?.forEach(destination)
            default: break
            }
        }
    }

    private func step(_ node: YAMLNode) {
        for entry in node.entries ?? [] {
            if entry.key == "where" {
                filter(entry.value)
            } else if let shape = TransformCatalogue.declaration(of: entry.key)?.shape {
                setting(entry.value, shape, of: entry.key)
            }
        }
    }

    private func setting(_ node: YAMLNode, _ shape: SettingShape, of transform: String) {
        switch shape {
        case .path: path(node, isWritten: ["copy", "move", "enrich"].contains(transform))
        case .filter: filter(node)
        case .template:
            if let value = JSONRendering.value(node) { warn(ValueTemplate.advice(on: value, fields: fields), in: node) }
        case .list(let item): node.items?.forEach { setting($0, item, of: transform) }
        case .map(let keys, let value):
            for entry in node.entries ?? [] {
                if case .paths = keys,
                    let advice = fields.path(entry.key, isWritten: ["set", "enrich"].contains(transform))
                {
                    diagnostics.warning(at: entry.place, advice.message, hint: advice.hint)
                }
                // The value of `rename` is a new name, not a path.
                if transform != "rename" { setting(entry.value, value, of: transform) }
            }
        case .record(let settings, let shorthand):
            if let entries = node.entries, !node.isNull {
                for entry in entries {
                    if let shape = settings.first(where: { $0.name == entry.key })?.shape {
                        setting(entry.value, shape, of: transform)
                    }
                }
            } else if let shape = settings.first(where: { $0.name == shorthand })?.shape {
                setting(node, shape, of: transform)
            }
        case .flag, .integer, .number, .size, .duration, .choice, .text, .script, .secret: break
        }
    }

    // MARK: Paths

    private func filter(_ node: YAMLNode) {
        guard let text = text(node) else { return }
        for advice in fields.filter(text) { warn(advice, in: node) }
    }

    private func path(_ node: YAMLNode, isWritten: Bool) {
        guard let text = text(node), let advice = fields.path(text, isWritten: isWritten) else { return }
        warn(advice, in: node)
    }

    private func template(_ node: YAMLNode) {
        guard let text = text(node) else { return }
        // As in mappings, a path may begin with "$." here.
        let plain = text.replacing(/\{\{ *\$\./) { String($0.output.map { $0 == "$" || $0 == "." ? " " : $0 }) }
            .replacing(/\{\{ *batch\.[a-z_]* *\}\}/) { String(repeating: " ", count: $0.output.count) }
        for advice in fields.template(plain, secrets: true) { warn(advice, in: node) }
    }

    private func mapping(_ node: YAMLNode, aroundEvents: Bool = false) {
        // Invalid values were reported when they were read.
        var source = MappingSource(Diagnostics())
        warn(Mapping.advice(on: source.value(of: node), aroundEvents: aroundEvents, fields: fields), in: node)
    }

    private func text(_ node: YAMLNode) -> String? {
        guard let scalar = node.scalar, !scalar.isSecret, !scalar.isReported, !scalar.isNull else { return nil }
        return scalar.text
    }

    private func warn(_ advice: FilterError, in node: YAMLNode) {
        diagnostics.warning(at: node.place(of: advice), advice.message, hint: advice.hint)
    }

    private func warn(_ advice: [TransformError], in node: YAMLNode) {
        for advice in advice {
            diagnostics.warning(
                at: SettingReader.place(of: advice, in: node), advice.fault.message, hint: advice.fault.hint)
        }
    }
}
